package live

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/reports/plots"
	"locklab/reports/series"
	"locklab/workloads/history"
)

// model is what the page shows, as far as it is known. One goroutine owns it.
type model struct {
	info Info
	rows map[Key]Row // of the combinations that have one

	number int // of the current run, from 1
	run    *Run
	phase  string
	report string // where it is, once all is over
	over   bool
	lines  []line // what happened, by its time, the newest last

	// Of the current run:
	measureNS int64 // the measured part begins; 0 until that is known
	drainNS   int64 // nothing is due any more; 0 before
	nodes     map[string]string
	faults    []*fault
	holds     map[holdKey]hold
	ended     map[holdKey]bool // whose end came before their beginning
	waiting   map[string]int
	ops       *series.Collector
	okay, all int64 // operations that ended well, and that were sent, in the measured part
	rooms     rooms
	// Of one without an end all of this is drawn again when it is longer than was thought.
	played  []series.Op
	marks   map[string]float64 // where violations began, by room
	offered []plots.Offered    // operations per second, from when on

	state ControlState
	tour  tour
}

// fault is one of the ledger.
type fault struct {
	id, kind, target         string
	from, to, nodes          []string
	delayNS                  int64
	askedNS, beganNS, healNS int64 // 0 until then
	endedNS                  int64
	unproven                 bool
}

// inForce says whether it was seen to have effects.
func (f *fault) inForce() bool { return f.beganNS != 0 && f.endedNS == 0 && !f.unproven }

// holdKey names a grant: the names of holds are those of their node.
type holdKey struct{ node, hold string }

// hold is what a client believes to hold.
type hold struct {
	resource, node string
	sinceNS        int64
}

// line is something that happened. Its text is English and translated where it is shown.
type line struct {
	atNS   int64   // 0 if it has no time
	atMS   float64 // since the measured part of its run began; negative in the warm-up, NaN if it has no time
	kind   lineKind
	words  []string
	lastNS int64    // when the last that is counted in it was, whose words it has
	rooms  []string // the duplicates that are counted in it
}

type lineKind int

const (
	lineNote lineKind = iota
	lineFaultAsked
	lineFaultBegan
	lineFaultEnded
	lineFaultUnproven
	lineNode
	lineDuplicate
	lineUnreached // a duplicate that is the price of going on while cut off
	lineVerdict
)

// keptLines are shown at most.
const keptLines = 40

func newModel(info Info) *model {
	m := &model{info: info, rows: map[Key]Row{}}
	if info.Control != nil {
		m.state = info.Control.State()
		m.tour = newTour(m.state.Locks)
	}
	m.clear()
	return m
}

// clear forgets the run before.
func (m *model) clear() {
	m.measureNS, m.drainNS, m.okay, m.all = 0, 0, 0, 0
	m.nodes, m.waiting = map[string]string{}, map[string]int{}
	m.holds, m.ended = map[holdKey]hold{}, map[holdKey]bool{}
	m.faults, m.ops, m.played, m.offered = nil, nil, nil, nil
	m.marks = map[string]float64{}
	m.rooms = newRooms()
}

func (m *model) begin(r Run) {
	m.clear()
	m.number++
	m.run, m.phase = &r, ""
	if r.Played {
		r.Duration = firstView
	}
	m.ops = series.NewCollector(inMS(int64(r.Duration)), 1)
	m.offered = plots.Offer(m.offered, 0, r.OfferedPerS)
}

func (m *model) end(row Row) {
	m.rows[row.Key] = row
	m.say(line{kind: lineVerdict, words: []string{row.Lock, row.Scenario, row.As}})
}

func (m *model) keep(row Row) {
	m.rows[row.Key] = row
	m.number += row.Repeats
}

func (m *model) note(text string) { m.say(line{kind: lineNote, words: []string{text}}) }

func (m *model) finish(report string) { m.over, m.report, m.run = true, report, nil }

// say tells something in its place by its time, as it may be heard of late. Duplicates with nothing
// but others between them are one line, of when the first began.
func (m *model) say(l line) {
	l.atMS, l.lastNS = math.NaN(), l.atNS
	switch {
	case l.atNS != 0 && m.measureNS != 0:
		l.atMS = m.at(l.atNS)
	case l.atNS != 0:
		l.atMS = math.Inf(-1)
	}
	at := len(m.lines)
	for at > 0 && l.atNS != 0 && m.lines[at-1].atNS > l.atNS {
		at--
	}
	if n := m.again(l, at); n >= 0 {
		was := m.lines[n]
		if was.lastNS > l.lastNS {
			l.words, l.lastNS = was.words, was.lastNS
		}
		if was.atNS < l.atNS {
			l.atNS, l.atMS, at = was.atNS, was.atMS, n
		}
		l.rooms = append(was.rooms, l.rooms...)
		m.lines = slices.Delete(m.lines, n, n+1)
	} else if at > 0 && l.kind == lineFaultBegan && m.lines[at-1].kind == lineFaultAsked && slices.Equal(m.lines[at-1].words[:2], l.words[:2]) {
		m.lines[at-1] = l
		return
	}
	m.lines = slices.Insert(m.lines, at, l)
	if extra := len(m.lines) - keptLines; extra > 0 {
		m.lines = slices.Delete(m.lines, 0, extra)
	}
}

// again is the line that a new one at a place is counted in; -1 if there is none.
func (m *model) again(l line, at int) int {
	counted := func(n int) bool { return m.lines[n].kind == lineDuplicate || m.lines[n].kind == lineUnreached }
	if len(l.rooms) == 0 {
		return -1
	}
	for n := at - 1; n >= 0 && counted(n); n-- {
		if m.lines[n].kind == l.kind {
			return n
		}
	}
	for n := at; n < len(m.lines) && counted(n); n++ {
		if m.lines[n].kind == l.kind {
			return n
		}
	}
	return -1
}

// unsay takes back what was said of a duplicate, as it is another one now, or none.
func (m *model) unsay(room string) {
	for n := range m.lines {
		if i := slices.Index(m.lines[n].rooms, room); i >= 0 {
			if m.lines[n].rooms = slices.Delete(m.lines[n].rooms, i, i+1); len(m.lines[n].rooms) == 0 {
				m.lines = slices.Delete(m.lines, n, n+1)
			}
			return
		}
	}
}

// add folds an event of the current run, in any order.
func (m *model) add(e *history.Event) {
	if m.run == nil || strings.HasPrefix(e.Resource, history.CanaryPrefix) { // a run that has not begun or is over; what counts in outages only
		return
	}
	switch e.Kind {
	case history.KindPhase:
		m.addPhase(e)
	case history.KindMatch:
		m.addOp(e)
	case history.KindAcquire:
		if strings.HasPrefix(e.Resource, history.CanaryPrefix) {
			return
		}
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

func (m *model) addPhase(e *history.Event) {
	switch e.State {
	case "measure":
		m.measureNS = e.AtNS
	case "drain":
		m.drainNS = e.AtNS
	}
}

// addOp counts an operation that was sent. Before the measured part begins it is only
// counted if it ends in it.
func (m *model) addOp(e *history.Event) {
	if m.measureNS == 0 || e.Error == "not-sent" {
		return
	}
	ok := e.Outcome == "ok"
	op := series.Op{DueMS: m.at(e.FromNS), EndMS: m.at(e.AtNS), OK: ok}
	m.ops.Add(op)
	if m.run.Played {
		m.played = append(m.played, op)
	}
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
		m.holds[key] = hold{e.Resource, e.Node, e.AtNS}
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
	if history.NodeEnds(e.State) { // with its process goes what it believed
		for key := range m.holds {
			if key.node == e.Node {
				delete(m.holds, key)
			}
		}
		delete(m.waiting, e.Node)
	}
	if m.measureNS != 0 && m.drainNS == 0 {
		m.say(line{atNS: e.AtNS, kind: lineNode, words: []string{e.Node, e.State}})
	}
}

func (m *model) addFault(e *history.Event) {
	i := slices.IndexFunc(m.faults, func(f *fault) bool { return f.id == e.ID })
	if i < 0 {
		i = len(m.faults)
		m.faults = append(m.faults, &fault{id: e.ID})
	}
	f := m.faults[i]
	f.kind, f.target = cmp.Or(e.Fault, f.kind), cmp.Or(e.Target, f.target)
	f.delayNS = max(f.delayNS, e.DelayNS)
	for _, list := range []struct {
		into *[]string
		more []string
	}{{&f.from, e.From}, {&f.to, e.To}, {&f.nodes, e.Nodes}} {
		for _, name := range list.more {
			if !slices.Contains(*list.into, name) {
				*list.into = append(*list.into, name)
			}
		}
	}
	var kind lineKind
	switch e.State {
	case "asked":
		f.askedNS, kind = e.AtNS, lineFaultAsked
	case "began":
		f.beganNS, kind = e.AtNS, lineFaultBegan
	case "heal-asked":
		f.healNS = e.AtNS
		return
	case "ended":
		f.endedNS, kind = e.AtNS, lineFaultEnded
	case "unproven":
		f.unproven, kind = true, lineFaultUnproven
	default:
		return
	}
	m.say(line{atNS: e.AtNS, kind: kind, words: []string{f.kind, f.target, e.Error}})
}

// judge asks the checker about the rooms of the last seconds.
func (m *model) judge(nowNS int64) {
	if m.run == nil || m.info.Duplicates == nil || !m.rooms.changed {
		return
	}
	found, withdrawn := m.rooms.judge(m.info.Duplicates, nowNS)
	for _, room := range withdrawn {
		delete(m.marks, room)
		m.unsay(room)
	}
	for _, d := range found {
		kind := lineDuplicate
		if d.Unreachable {
			kind = lineUnreached
		} else if m.measureNS != 0 {
			m.marks[d.Room] = m.at(d.AtNS)
		}
		m.say(line{atNS: d.AtNS, kind: kind, rooms: []string{d.Room}, words: []string{m.rooms.group(d.Room), m.rooms.worker(d.Room), m.rooms.worker(d.Other)}})
	}
}

// windows are the faults as charts shade them, up to now.
func (m *model) windows(nowNS int64) (all []series.Window) {
	for _, f := range m.faults {
		from := cmp.Or(f.beganNS, f.askedNS)
		if from == 0 || m.measureNS == 0 {
			continue
		}
		w := series.Window{Kind: f.kind, Target: f.target, FromMS: m.at(from), ToMS: m.at(cmp.Or(f.endedNS, nowNS)), Proven: f.beganNS != 0 && !f.unproven}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b series.Window) int { return cmp.Compare(a.FromMS, b.FromMS) })
	return all
}

// chart is the run as the report's plots take it, as far as it is over.
func (m *model) chart(nowNS int64) series.Series {
	s := series.Series{Repeats: 1}
	if m.run == nil {
		return s
	}
	s.DurationMS, s.BinMS = inMS(int64(m.run.Duration)), m.ops.BinMS
	if m.measureNS == 0 {
		return s
	}
	bins := m.ops.Bins()
	over := int(math.Floor(m.at(nowNS) / m.ops.BinMS))
	s.Bins = slices.Clone(bins[:max(0, min(over, len(bins)))])
	for _, at := range m.marks {
		if i := int(math.Floor(at / m.ops.BinMS)); i >= 0 && i < len(s.Bins) {
			s.Bins[i].Violations++
		}
	}
	s.Faults = m.windows(nowNS)
	return s
}

// linkState is what is wrong with the traffic from one host to another now.
type linkState struct {
	kinds   []string
	delayNS int64
}

// cut says whether nothing passes.
func (s linkState) cut() bool {
	return slices.ContainsFunc(s.kinds, func(kind string) bool { return !slices.Contains(slowKinds(), kind) })
}

// slowKinds are the kinds of faults that let something pass, if late or not all the time.
func slowKinds() []string {
	return []string{"latency", "zone-latency", "jitter", "bandwidth", "flaky", "flap"}
}

// link is the state of the traffic from one host to another.
func (m *model) link(from, to string) (s linkState) {
	zone := func(host string) string {
		i := slices.IndexFunc(m.run.Hosts, func(h Host) bool { return h.Name == host })
		if i < 0 {
			return ""
		}
		return m.run.Hosts[i].Zone
	}
	for _, f := range m.faults {
		if !f.inForce() {
			continue
		}
		there := slices.Contains(f.from, from) && slices.Contains(f.to, to)
		back := slices.Contains(f.from, to) && slices.Contains(f.to, from)
		if there && back && zone(from) == zone(to) { // one that names the same hosts on both sides is between zones
			continue
		}
		if there || back && !history.OneWay(f.target) {
			s.kinds = append(s.kinds, f.kind)
			s.delayNS += f.delayNS
		}
	}
	return s
}
