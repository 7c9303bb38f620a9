package live

import (
	"cmp"
	"math"
	"slices"
	"sort"
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
	lines  []line // by their time; see log
	state  ControlState
	tour   tour
	current
}

// current is what is known of the run that goes on.
type current struct {
	measureNS int64 // the measured part begins; 0 until that is known
	drainNS   int64 // nothing is due any more; 0 before
	nodes     map[string]string
	faults    []*fault
	holds     map[holdKey]history.Event // grants whose holders have not stopped
	ended     map[holdKey]bool          // ends that came before their beginnings
	waiting   map[string]int
	ops       *series.Collector
	okay, all int64 // operations that ended well, and that were sent, in the measured part
	rooms     rooms
	offered   []plots.Offered // operations per second, from when on
}

// fault is one of the ledger, from all its events. Its AtNS is the time of the order.
type fault struct {
	history.Event
	beganNS, endedNS int64 // 0 until then
	unproven         bool
}

// inForce says whether probes saw it begin and not yet end.
func (f *fault) inForce() bool { return f.beganNS != 0 && f.endedNS == 0 && !f.unproven }

// name is the fault in words.
func (f *fault) name(say *lang.Lang) string { return say.Tell(history.FaultText(f.Fault, f.Target)) }

// holdKey names a grant: the names of holds are those of their node.
type holdKey struct{ node, hold string }

// line is something that happened.
type line struct {
	atNS         int64
	atMS         float64 // since the measured part of its run began; NaN outside of it
	class, shape string
	text         func(*lang.Lang) string
}

// keptLines are shown at most.
const keptLines = 40

func newModel(info Info) *model {
	m := &model{info: info}
	if info.Control != nil {
		m.state = info.Control.State()
		m.tour = newTour(m.state.Locks)
	}
	m.clear()
	return m
}

// clear forgets the run before, but for its lines.
func (m *model) clear() {
	m.lines = m.log()
	m.current = current{
		nodes: map[string]string{}, waiting: map[string]int{}, holds: map[holdKey]history.Event{}, ended: map[holdKey]bool{},
		rooms: rooms{orders: map[string]history.Event{}, byName: map[string]*room{}},
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
	m.say(clock.Mono(), "none", "·", func(say *lang.Lang) string {
		return say.Sprintf("%s under %s", row.Lock, row.Scenario) + ": " + say.Term(string(row.Verdict.As))
	})
}

func (m *model) note(text string) {
	m.say(clock.Mono(), "none", "·", func(*lang.Lang) string { return text })
}

// say adds a line in its place by time: events may come late.
func (m *model) say(atNS int64, class, shape string, text func(*lang.Lang) string) {
	m.lines = newest(append(m.lines, m.line(atNS, class, shape, text)))
}

func newest(lines []line) []line {
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.atNS, b.atNS) })
	return lines[max(len(lines)-keptLines, 0):]
}

func (m *model) line(atNS int64, class, shape string, text func(*lang.Lang) string) line {
	l := line{atNS, math.NaN(), class, shape, text}
	if m.measureNS != 0 && atNS >= m.measureNS {
		l.atMS = m.at(atNS)
	}
	return l
}

// log is all lines. Duplicates with no line between them are one, of when the first began.
func (m *model) log() []line {
	type between struct {
		lines       int // before them
		unreachable bool
	}
	same := map[between][]Duplicate{}
	for _, d := range m.rooms.found {
		of := between{sort.Search(len(m.lines), func(i int) bool { return m.lines[i].atNS > d.AtNS }), d.Unreachable}
		same[of] = append(same[of], d)
	}
	all := slices.Clone(m.lines)
	for _, duplicates := range same {
		all = append(all, m.duplicates(duplicates))
	}
	return newest(all)
}

// duplicates tells of some of one kind.
func (m *model) duplicates(same []Duplicate) line {
	d, n := same[len(same)-1], len(same)
	class, shape := "bad", "✗"
	if d.Unreachable {
		class, shape = "none", "⊠"
	}
	return m.line(same[0].AtNS, class, shape, func(say *lang.Lang) string {
		text := say.Sprintf("A second room of %s began on %s while one on %s was starting or had free seats",
			d.Group, d.Worker, d.Free)
		if d.Unreachable {
			text = say.Sprintf("A second room of %s began on %s: the one on %s could not be reached", d.Group, d.Worker, d.Free)
		}
		if n > 1 {
			return say.Sprintf("%d times, the last: %s", n, text)
		}
		return text
	})
}

// add folds an event of the current run, in any order.
func (m *model) add(e *history.Event) {
	// Canaries count in outages only.
	if m.run == nil || strings.HasPrefix(e.Resource, history.CanaryPrefix) {
		return
	}
	switch e.Kind {
	case history.KindPhase:
		switch e.State {
		case "measure":
			m.measureNS = e.AtNS
		case "drain":
			m.drainNS = e.AtNS
		}
	case history.KindMatch:
		m.addOp(e)
	case history.KindAcquire:
		if m.run.Workload != history.Matchmaking {
			m.addOp(e)
		}
		m.addHold(e)
	case history.KindReleasing, history.KindRelease, history.KindLost:
		m.endHold(e)
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
	case history.KindRun, history.KindRoom, history.KindOrder:
	default:
		return
	}
	m.rooms.add(e)
}

// addOp counts an operation that was sent. Before the measured part begins it is only
// counted if it ends in it.
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

func (m *model) addHold(e *history.Event) {
	key := holdKey{e.Node, e.Hold}
	switch {
	case e.Outcome != "ok" || e.Hold == "":
	case m.ended[key]:
		delete(m.ended, key)
	default:
		m.holds[key] = *e
	}
}

// endHold ends a hold at the first sign that its holder stopped to act.
func (m *model) endHold(e *history.Event) {
	key := holdKey{e.Node, e.Hold}
	if _, held := m.holds[key]; held {
		delete(m.holds, key)
	} else if e.Kind == history.KindReleasing { // which comes first of all ends, and here before the beginning
		m.ended[key] = true
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
		delete(m.waiting, e.Node)
	}
	if m.measureNS != 0 && m.drainNS == 0 {
		node, state := e.Node, e.State
		m.say(e.AtNS, "none", "·", func(say *lang.Lang) string { return node + ": " + say.Tell(series.NodeText(state)) })
	}
}

func (m *model) addFault(e *history.Event) {
	i := slices.IndexFunc(m.faults, func(f *fault) bool { return f.ID == e.ID })
	if i < 0 {
		i = len(m.faults)
		m.faults = append(m.faults, &fault{Event: *e})
	}
	f, why := m.faults[i], e.Error
	f.Fault, f.Target, f.DelayNS = cmp.Or(e.Fault, f.Fault), cmp.Or(e.Target, f.Target), max(f.DelayNS, e.DelayNS)
	f.From, f.To = slices.Concat(f.From, e.From), slices.Concat(f.To, e.To)
	switch e.State {
	case "began":
		f.beganNS = e.AtNS
		m.say(e.AtNS, "warn", "▲", func(say *lang.Lang) string { return beganText(say, f.name(say), f.Target) })
	case "ended":
		f.endedNS = e.AtNS
		m.say(e.AtNS, "ok", "✓", func(say *lang.Lang) string { return say.Sprintf("%s: healed, and proven", f.name(say)) })
	case "unproven":
		f.unproven = true
		m.say(e.AtNS, "warn", "?", func(say *lang.Lang) string {
			return strings.TrimSuffix(say.Sprintf("%s: not proven", f.name(say))+": "+why, ": ")
		})
	}
}

// beganText says that a fault began. Whether it hit a hold is known when its history is complete.
func beganText(say *lang.Lang, name, target string) string {
	if strings.HasPrefix(target, history.TargetHolder) {
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

// chart is the run as the report's plots take it, as far as it is over.
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
			Kind: f.Fault, Target: f.Target, Proven: f.beganNS != 0 && !f.unproven,
			FromMS: m.at(cmp.Or(f.beganNS, f.AtNS)), ToMS: m.at(cmp.Or(f.endedNS, nowNS)),
		})
	}
	slices.SortFunc(s.Faults, func(a, b series.Window) int { return cmp.Compare(a.FromMS, b.FromMS) })
	return s
}

func (m *model) counts() counts {
	return counts{m.okay, m.all - m.okay, m.rooms.duplicates, m.rooms.unreachable}
}

// steer looks at the state of the lab, and goes on with the tour.
func (m *model) steer(nowNS int64) {
	if m.info.Control == nil {
		return
	}
	m.state = m.info.Control.State()
	m.tour.drive(m.info.Control, m.state, m.number, m.measureNS != 0, m.counts())
	if m.run != nil && m.run.Played && m.measureNS != 0 && m.at(nowNS) >= inMS(int64(m.run.Duration)) {
		m.run.Duration *= 2
		m.ops.Double()
	}
}
