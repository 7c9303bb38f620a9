package live

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/locks/clock"
	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/series"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// model is the data of the page. The Board's mutex guards it.
type model struct {
	info Info
	file result.File // with the rows of the runs that are over

	number int // of the current run, from 1
	run    *Run
	report string // where it is, once all is over
	over   bool
	lines  []line // by their time
	state  ControlState
	current
}

// current is what is known of the current run.
type current struct {
	measureNS int64 // the measured part begins; 0 until that is known
	drainNS   int64 // nothing is due any more; 0 before
	nodes     map[string]string
	faults    []*fault
	holds     map[holdKey]bool // grants whose holders have not stopped; false: the end came first
	ops       *series.Collector
	okay, all int64 // operations that ended well, and that were sent, in the measured part
	rooms     rooms
	offered   []plots.Offered // operations per second, from when on
}

// fault is a fault of the ledger. Its AtNS is when it was asked for.
type fault struct {
	history.Event
	beganNS, endedNS int64 // 0 until then
	unproven         bool
}

// inForce says whether probes saw it begin and not yet end.
func (f *fault) inForce() bool { return f.beganNS != 0 && f.endedNS == 0 && !f.unproven }

// holdKey names a grant: the names of holds are those of their node.
type holdKey struct{ node, hold string }

// line is one line of the page's log.
type line struct {
	atNS  int64
	atMS  float64 // since the measured part of its run began; NaN outside of it
	shape string  // ▲ broken, ✓ healed, ? unproven, · anything else
	text  func(*lang.Lang) string
}

// keptLines is how many are shown at most.
const keptLines = 40

func newModel(info Info) *model {
	m := &model{info: info, file: info.Kept}
	for _, row := range info.Kept.Rows {
		if !row.Partial {
			m.number++
		}
	}
	if info.Control != nil {
		m.state = info.Control.State()
	}
	m.clear()
	return m
}

// clear forgets the run before, but not its lines.
func (m *model) clear() {
	m.current = current{
		nodes: map[string]string{}, holds: map[holdKey]bool{},
		rooms: rooms{
			orders: map[string]history.Event{}, byName: map[string]*room{}, found: map[string]Duplicate{},
		},
	}
}

// firstView is how much of a run without an end is drawn at first. It doubles when it is full.
const firstView = time.Minute

func (m *model) begin(r Run) {
	m.clear()
	m.number++
	m.run = &r
	if r.Played {
		r.Duration = firstView
	}
	m.ops = series.NewCollector(inMS(int64(r.Duration)))
	m.offered = plots.Offer(m.offered, 0, r.OfferedPerS)
}

func (m *model) end(file result.File, row result.Row) {
	m.file = file
	m.say(clock.Mono(), "·", func(say *lang.Lang) string {
		return say.Sprintf("%s under %s", row.Lock, row.Scenario) + ": " + say.Term(string(row.Verdict.As))
	})
}

func (m *model) note(text string) {
	m.say(clock.Mono(), "·", func(*lang.Lang) string { return text })
}

// say inserts a line by its time: events may come late.
func (m *model) say(atNS int64, shape string, text func(*lang.Lang) string) {
	l := line{atNS, math.NaN(), shape, text}
	if m.measureNS != 0 && atNS >= m.measureNS {
		l.atMS = m.at(atNS)
	}
	m.lines = append(m.lines, l)
	slices.SortStableFunc(m.lines, func(a, b line) int { return cmp.Compare(a.atNS, b.atNS) })
	m.lines = m.lines[max(len(m.lines)-keptLines, 0):]
}

// add takes an event of the current run, in any order.
func (m *model) add(e *history.Event) {
	// Canaries count in outages only.
	if m.run == nil || strings.HasPrefix(e.Resource, history.CanaryPrefix) {
		return
	}
	switch e.Kind {
	case history.KindPhase:
		switch e.State {
		case history.PhaseMeasure:
			m.measureNS = e.AtNS
		case history.PhaseDrain:
			m.drainNS = e.AtNS
		}
	case history.KindMatch:
		m.addOp(e)
	case history.KindAcquire:
		if !m.run.Rooms {
			m.addOp(e)
		}
		if e.Outcome == "ok" && e.Hold != "" {
			m.hold(e, true)
		}
	case history.KindReleasing, history.KindLost: // the first sign that the holder stopped to act
		m.hold(e, false)
	case history.KindNode:
		m.addNode(e)
	case history.KindFault:
		m.addFault(e)
	case history.KindRate:
		at := 0.0
		if m.measureNS != 0 {
			at = m.at(e.AtNS)
		}
		m.offered = plots.Offer(m.offered, at, float64(e.Count))
	default:
	}
	m.rooms.add(e)
}

// addOp counts an operation that was sent. One due before the measured part counts for charts only.
func (m *model) addOp(e *history.Event) {
	if m.measureNS == 0 || e.Error == "not-sent" {
		return
	}
	ok := e.Outcome == "ok"
	m.ops.Add(series.Op{DueMS: m.at(e.FromNS), EndMS: m.at(e.AtNS), OK: ok})
	if e.FromNS >= m.measureNS {
		m.all++
		if ok {
			m.okay++
		}
	}
}

// at is a time in milliseconds since the measured part began.
func (m *model) at(ns int64) float64 { return inMS(ns - m.measureNS) }

func inMS(ns int64) float64 { return float64(ns) / float64(time.Millisecond) }

// hold notes the beginning of a hold, or its end.
func (m *model) hold(e *history.Event, begins bool) {
	key := holdKey{e.Node, e.Hold}
	if was, known := m.holds[key]; known && was != begins {
		delete(m.holds, key)
	} else if begins || e.Kind == history.KindReleasing {
		m.holds[key] = begins
	}
}

func (m *model) addNode(e *history.Event) {
	m.nodes[e.Node] = e.State
	if history.NodeEnds(e.State) { // its holds end with the process
		for key := range m.holds {
			if key.node == e.Node {
				delete(m.holds, key)
			}
		}
	}
	if m.measureNS != 0 && m.drainNS == 0 {
		node, state := e.Node, e.State
		m.say(e.AtNS, "·", func(say *lang.Lang) string { return node + ": " + say.Tell(series.NodeText(state)) })
	}
}

func (m *model) addFault(e *history.Event) {
	i := slices.IndexFunc(m.faults, func(f *fault) bool { return f.ID == e.ID })
	if i < 0 {
		i = len(m.faults)
		m.faults = append(m.faults, &fault{Event: *e})
	}
	f, why := m.faults[i], e.Error
	f.Fault, f.Target, f.Aim = cmp.Or(e.Fault, f.Fault), cmp.Or(e.Target, f.Target), cmp.Or(e.Aim, f.Aim)
	f.From, f.To = slices.Concat(f.From, e.From), slices.Concat(f.To, e.To)
	name := func(say *lang.Lang) string { return say.Tell(history.FaultText(f.Fault, f.Target)) }
	switch e.State {
	case history.FaultBegan:
		f.beganNS, f.DelayNS = e.AtNS, e.DelayNS
		m.say(e.AtNS, "▲", func(say *lang.Lang) string { return beganText(say, name(say), f.Aim) })
	case history.FaultEnded:
		f.endedNS = e.AtNS
		m.say(e.AtNS, "✓", func(say *lang.Lang) string { return say.Sprintf("%s: healed, and proven", name(say)) })
	case history.FaultUnproven:
		f.unproven = true
		m.say(e.AtNS, "?", func(say *lang.Lang) string {
			return strings.TrimSuffix(say.Sprintf("%s: not proven", name(say))+": "+why, ": ")
		})
	}
}

// beganText says that a fault began. Only a complete history tells whether it hit a hold.
func beganText(say *lang.Lang, name string, aim *history.Aim) string {
	if aim != nil && aim.At == history.AimHolder {
		return say.Sprintf("%s: broken, as probes saw; the report says whether it hit a hold", name)
	}
	return say.Sprintf("%s: broken, and proven", name)
}

// judge asks the checker about the rooms of the last seconds.
func (m *model) judge(nowNS int64) {
	if m.run != nil && m.info.Duplicates != nil && m.rooms.changed {
		m.rooms.judge(m.info.Duplicates, nowNS)
	}
}

// chart is the run so far, as the report's plots take it.
func (m *model) chart(nowNS int64) series.Series {
	s := m.ops.Series()
	if m.measureNS == 0 {
		s.Bins = nil
		return s
	}
	s.Bins = s.Bins[:min(max(int(m.at(nowNS)/s.BinMS), 0), len(s.Bins))]
	for _, d := range m.rooms.found {
		if i := int(math.Floor(m.at(d.AtNS) / s.BinMS)); !d.Unreachable && i >= 0 && i < len(s.Bins) {
			s.Bins[i].Violations++
		}
	}
	for _, f := range m.faults {
		s.Faults = append(s.Faults, series.Window{
			Kind: f.Fault, Proven: f.beganNS != 0 && !f.unproven,
			FromMS: m.at(cmp.Or(f.beganNS, f.AtNS)), ToMS: m.at(cmp.Or(f.endedNS, nowNS)),
		})
	}
	slices.SortFunc(s.Faults, func(a, b series.Window) int { return cmp.Compare(a.FromMS, b.FromMS) })
	return s
}

// steer updates the lab's state, and makes room for a run without an end.
func (m *model) steer(nowNS int64) {
	if m.info.Control == nil {
		return
	}
	m.state = m.info.Control.State()
	if m.run != nil && m.run.Played && m.measureNS != 0 && m.at(nowNS) >= inMS(int64(m.run.Duration)) {
		m.run.Duration *= 2
		m.ops.Double()
	}
}
