package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/locks"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
	"locklab/workloads/result"
)

// Read reads a history file, gzipped or not: see [history.Read]. Its error names the line where the file is
// not the history of one run.
func Read(ctx context.Context, path string) (*Run, error) {
	s := newScribe()
	torn, err := history.Read(ctx, path, s.add)
	if err != nil {
		return nil, err
	}
	s.Torn = torn
	r, err := s.settle()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Of makes a run of events in memory. The first describes the run.
func Of(events []history.Event) (*Run, error) {
	s := newScribe()
	for i := range events {
		if err := s.add(&events[i]); err != nil {
			return nil, fmt.Errorf("event %d: %w", i+1, err)
		}
	}
	return s.settle()
}

var errNoRun = errors.New("the first line is not the description of a run: want a history that locklab wrote")

// begin keeps the description of the run, and refuses one that nothing can be judged by.
func (s *scribe) begin(e *history.Event) (err error) {
	switch head := e.Run; {
	case s.Head.Lock != "":
		return errors.New("a second description of a run: want the history of one run")
	case e.Kind != history.KindRun || head == nil:
		return errNoRun
	case head.Lock == "":
		return errors.New("run.lock: have none, want the name of a lock")
	case head.DurationNS < int64(time.Millisecond):
		return fmt.Errorf("run.duration_ns: have %d, want at least a millisecond", head.DurationNS)
	}
	s.Head = *e.Run
	if s.Workload, err = history.WorkloadOf(s.Head.Workload); err != nil {
		return fmt.Errorf("run.workload: %w", err)
	}
	if s.Workload.Players && s.Head.OfferedPS <= 0 { // closed loops offer nothing
		return fmt.Errorf("run.offered_per_s: have %g, want more than 0", s.Head.OfferedPS)
	}
	return nil
}

// scribe takes in the events of one history, one by one.
type scribe struct {
	*Run
	held        map[string]*Acquire // by hold, until it is released
	ends        []history.Event     // of holds whose acquisition comes later, or never
	phases      map[string]int64
	faults      map[string]*Fault
	points      []history.Event
	lists       map[history.Kind]*[]history.Event // of the kinds that are kept as they are
	rooms       map[string]int                    // their indexes in Rooms
	numbers     map[string][]uint64               // of the events of each node; under "" the file's own lines
	first, last int64                             // the first operation; the last event
}

func newScribe() *scribe {
	s := &scribe{
		Run:  &Run{Nodes: map[string]*Node{}, ErrNS: map[string]int64{}, holds: map[string]*Acquire{}},
		held: map[string]*Acquire{}, phases: map[string]int64{}, numbers: map[string][]uint64{},
		rooms: map[string]int{}, faults: map[string]*Fault{}, first: Never, last: math.MinInt64,
	}
	s.lists = map[history.Kind]*[]history.Event{
		history.KindOrder: &s.Orders, history.KindRead: &s.Accesses, history.KindWrite: &s.Accesses,
		history.KindPoint: &s.points, history.KindMachine: &s.Machines, history.KindUsage: &s.Usage,
		history.KindRate: &s.Rates, history.KindCapacity: &s.Capacities,
	}
	return s
}

// add takes one event. It keeps nothing of e but strings and lists.
func (s *scribe) add(e *history.Event) error {
	if s.Head.Lock == "" || e.Kind == history.KindRun {
		if err := s.begin(e); err != nil {
			return err
		}
	}
	if states := e.Kind.States(); states != nil && !slices.Contains(states, e.State) {
		return fmt.Errorf("the state of a %s: have %q, want one of %s", e.Kind, e.State, strings.Join(states, ", "))
	}
	switch {
	case e.Seq > 0:
		s.numbers[e.Node] = append(s.numbers[e.Node], e.Seq)
	case e.Line > 0:
		s.numbers[""] = append(s.numbers[""], e.Line)
	}
	if e.Kind != history.KindClock && e.Kind != history.KindCapacity { // recorded when all was over
		s.last = max(s.last, e.AtNS)
	}
	if from, sent := cmp.Or(e.FromNS, math.MinInt64), cmp.Or(e.SentNS, e.AtNS); from > sent || sent > e.AtNS {
		who := cmp.Or(e.Client, e.Node, e.Host, history.TargetController)
		s.Contradictions.Add("the event %s of %s was answered before it was asked for", e.Kind, who)
	}
	switch e.Kind {
	case history.KindAcquire:
		s.addAcquire(e)
	case history.KindReleasing, history.KindRelease, history.KindLost:
		if a := s.held[e.Hold]; a != nil {
			a.end(e)
		} else if e.Hold != "" {
			s.ends = append(s.ends, *e)
		}
		if e.Kind == history.KindRelease {
			delete(s.held, e.Hold)
		}
	case history.KindMatch:
		s.Requests = append(s.Requests, Request{s.op(e), e.Room, e.Worker})
	case history.KindRoom:
		s.addRoom(e)
	case history.KindFault:
		s.addFault(e)
	case history.KindPhase:
		s.phases[e.State] = e.AtNS
	case history.KindNode:
		n := s.node(e.Node)
		n.Host = cmp.Or(n.Host, e.Host)
		n.Events = append(n.Events, *e)
	case history.KindClock:
		s.ErrNS[e.Host] = max(s.ErrNS[e.Host], e.ErrNS)
	case history.KindGivenUp:
		s.GivenUp = append(s.GivenUp, e.Error)
	default:
		empty := e.Kind == history.KindMachine && (e.Machine == nil || e.FromNS >= e.AtNS) ||
			e.Kind == history.KindUsage && e.FromNS >= e.AtNS || e.Kind == history.KindCapacity && e.SentNS >= e.AtNS
		if list := s.lists[e.Kind]; list != nil && !empty {
			*list = append(*list, *e)
		}
	}
	return nil
}

func (s *scribe) addRoom(e *history.Event) {
	n, known := s.rooms[e.Room]
	if !known {
		n = len(s.Rooms)
		s.rooms[e.Room] = n
		room := Room{ID: e.Room, Order: e.Order, Worker: e.Node, Resource: e.Resource, Master: e.Client}
		room.At = [...]int64{Never, Never, Never, Never}
		s.Rooms = append(s.Rooms, room)
	}
	room := &s.Rooms[n]
	room.Err = max(room.Err, e.ErrNS)
	at := &room.At[slices.Index(e.Kind.States(), e.State)]
	if *at != Never {
		s.Contradictions.Add("the order of the states of room %s", e.Room)
	}
	*at = min(*at, e.AtNS)
}

func (s *scribe) op(e *history.Event) Op {
	s.first = min(s.first, e.FromNS)
	return Op{
		From: e.FromNS, Sent: e.SentNS, At: e.AtNS, Node: e.Node, Client: e.Client, Resource: e.Resource, ErrorKind: e.Error,
		Count: uint32(min(max(e.Count, 1), math.MaxUint32)), Outcome: outcomeOf(e), //nolint:gosec // bounded
	}
}

func outcomeOf(e *history.Event) Outcome {
	switch {
	case e.Outcome == string(locks.OutcomeOK):
		return OK
	case e.Error == loadgen.ErrorNotSent:
		return Unsent
	case e.Error == loadgen.ErrorCalledOff, e.Error == "canceled": // see [locks.ErrorKind]
		return CalledOff
	case e.Outcome == string(locks.OutcomeFailed):
		return Failed
	}
	return Unknown // also what is not one of the three words
}

func (s *scribe) addAcquire(e *history.Event) {
	a := &Acquire{
		Op: s.op(e), Err: e.ErrNS, Token: e.Token, Messages: e.Messages, Wakeups: e.Wakeups, Hold: e.Hold,
		Stopped: Never, Lost: Never, Answered: Never, Killed: Never, Until: Never,
	}
	s.Acquires = append(s.Acquires, a)
	switch {
	case a.Granted():
		s.held[a.Hold] = a
	case a.Outcome == OK && !strings.HasPrefix(e.Resource, history.CanaryPrefix): // canaries have none
		s.Missing.Add("the name of a hold that %s got", e.Client)
	}
}

// end notes the end of a hold.
func (a *Acquire) end(e *history.Event) {
	a.Err = max(a.Err, e.ErrNS)
	switch e.Kind { //nolint:exhaustive // no other comes here
	case history.KindLost:
		a.Lost = min(a.Lost, e.AtNS)
	case history.KindReleasing:
		a.Stopped = min(a.Stopped, e.AtNS)
	case history.KindRelease:
		a.Stopped = min(a.Stopped, cmp.Or(e.FromNS, e.AtNS))
		if outcomeOf(e) != Unknown {
			a.Answered = e.AtNS
		}
	}
}

// node returns the node of that name, new if need be.
func (s *scribe) node(name string) *Node {
	n := s.Nodes[name]
	if n == nil {
		n = &Node{Name: name}
		s.Nodes[name] = n
	}
	return n
}

// addFault collects the entries of one fault of the ledger.
func (s *scribe) addFault(e *history.Event) {
	f := s.faults[e.ID]
	if f == nil {
		f = &Fault{Fault: result.Fault{ID: e.ID, Proven: true}, Asked: Never, Began: Never, Heal: Never, Ended: Never}
		s.faults[e.ID] = f
	}
	if f.Kind, f.Target = cmp.Or(f.Kind, e.Fault), cmp.Or(f.Target, e.Target); e.Aim != nil {
		f.Aim = *e.Aim
	}
	f.From, f.To, f.Nodes = both(f.From, e.From), both(f.To, e.To), both(f.Nodes, e.Nodes)
	times := map[string]*int64{
		history.FaultAsked: &f.Asked, history.FaultBegan: &f.Began,
		history.FaultHealAsked: &f.Heal, history.FaultEnded: &f.Ended,
	}
	if at := times[e.State]; at != nil {
		*at = min(*at, e.AtNS)
	}
	switch e.State {
	case history.FaultAway:
		f.Away = true
	case history.FaultLost:
		if e.Lost != nil {
			f.Lost = append(f.Lost, *e.Lost)
		}
	case history.FaultUnproven:
		f.Proven, f.Why = false, cmp.Or(f.Why, e.Error)
	}
}

// both adds to a list what it does not have.
func both(list, more []string) []string {
	for _, name := range more {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// settle completes the record. The scribe must not be used afterwards.
func (s *scribe) settle() (*Run, error) {
	if s.Head.Lock == "" {
		return nil, errNoRun
	}
	s.settlePhases()
	s.settleNodes()
	s.settleAcquires()
	s.widen()
	slices.SortStableFunc(s.Canaries, func(a, b *Acquire) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(s.Orders, byTime)
	s.settleFaults()
	s.checkNumbers()
	return s.Run, nil
}

func byTime(a, b history.Event) int { return cmp.Compare(a.AtNS, b.AtNS) }

func (s *scribe) settlePhases() {
	at := func(phase string, otherwise int64) int64 {
		if at, known := s.phases[phase]; known {
			return at
		}
		return otherwise
	}
	s.End = at(history.PhaseEnd, s.last)
	_, s.Ended = s.phases[history.PhaseEnd]
	first := min(s.first, s.End)
	if _, warmed := s.phases[history.PhaseWarmup]; warmed { // cut short before the measured part
		first = s.End
	}
	s.Measure = at(history.PhaseMeasure, first)
	s.Drain = max(at(history.PhaseDrain, s.End), s.Measure)
	s.End = max(s.End, s.Drain)
	for _, state := range []string{history.PhaseWarmup, history.PhaseMeasure, history.PhaseDrain} {
		if _, known := s.phases[state]; !known && s.Whole() {
			s.Missing.Add("the beginning of the phase %s", state)
		}
	}
}

// settleNodes derives the lives of nodes from their events.
func (s *scribe) settleNodes() {
	for name := range s.Head.NodeHosts {
		s.node(name)
	}
	delete(s.Nodes, "")
	for name, n := range s.Nodes {
		n.Host = cmp.Or(s.Head.NodeHosts[name], n.Host, name)
		n.Zone = s.Head.HostZones[n.Host]
		s.settleLife(n)
	}
}

func (s *scribe) settleLife(n *Node) {
	const orderly = 5 * int64(time.Second) / 2 // a process that ends in this time has recorded everything
	slices.SortStableFunc(n.Events, byTime)
	since, away, dead := int64(0), false, false
	for _, e := range n.Events {
		ends, back := history.NodeEnds(e.State), false
		switch e.State {
		case history.NodeStarted:
			if n.Runs {
				s.Missing.Add("the end of node %s before it was started again", n.Name)
			}
			n.Starts, n.Runs, dead, back = n.Starts+1, true, false, true
		case history.NodeReady:
			dead, back = false, true
		case history.NodeResumed:
			back = !dead
		}
		if ends && !dead {
			asked := min(cmp.Or(e.FromNS, e.AtNS), e.AtNS)
			n.Deaths = append(n.Deaths, Death{e.AtNS, asked, e.State == history.NodeStopped && e.AtNS-asked <= orderly})
			n.Runs, dead = false, true
		}
		if gone := ends || e.State == history.NodePaused; gone && !away {
			since, away = e.AtNS, true
		}
		if back && away && since < e.AtNS {
			n.Away = append(n.Away, Span{since, e.AtNS})
		}
		away = away && !back
	}
	if away {
		n.Away = append(n.Away, Span{since, Never})
	}
}

// settleAcquires sorts the acquisitions, and ends the holds whose ends came first, or whose process ended. It
// drops the acquisitions that measure capacity.
func (s *scribe) settleAcquires() {
	own, all := map[string][]*Acquire{}, s.Acquires
	named := len(s.Orders)+len(s.Accesses)+len(s.ends) > 0
	for _, a := range all {
		own[a.Resource] = append(own[a.Resource], a)
		if named && a.Granted() {
			if s.holds[a.Hold] != nil {
				s.Contradictions.Add("the acquisition of hold %s, twice", a.Hold)
			}
			s.holds[a.Hold] = a
		}
	}
	for i := range s.ends {
		if a := s.holds[s.ends[i].Hold]; a != nil {
			a.end(&s.ends[i])
		} else {
			s.Missing.Add("the acquisition of hold %s", s.ends[i].Hold)
		}
	}
	s.Acquires = make([]*Acquire, 0, len(all))
	for _, resource := range slices.Sorted(maps.Keys(own)) {
		list := own[resource]
		for _, a := range list {
			if a.Granted() {
				a.Killed = max(a.At, s.Nodes[a.Node].Next(a.At).Asked)
				a.Until = min(a.Stopped, a.Lost, a.Killed)
				if a.Stopped < a.At {
					s.Contradictions.Add("the release of hold %s, before its grant", a.Hold)
				}
			}
		}
		slices.SortStableFunc(list, func(a, b *Acquire) int { return cmp.Compare(a.From, b.From) })
		switch {
		case strings.HasPrefix(resource, history.CanaryPrefix):
			s.Canaries = append(s.Canaries, list...)
		case !strings.Contains(resource, history.CapacityResource):
			s.Acquires = append(s.Acquires, list...)
		}
	}
}

// widen raises all error bounds of a host to its final one.
func (s *scribe) widen() {
	bounds := make(map[string]int64, len(s.Nodes))
	for name, n := range s.Nodes {
		bounds[name] = s.ErrNS[n.Host]
	}
	for _, a := range s.Acquires {
		a.Err = max(a.Err, bounds[a.Node])
	}
	for i := range s.Orders {
		s.Orders[i].ErrNS = max(s.Orders[i].ErrNS, bounds[s.Orders[i].Node])
	}
	for i := range s.Rooms {
		s.Rooms[i].Err = max(s.Rooms[i].Err, bounds[s.Rooms[i].Worker])
	}
	for i := range s.Accesses {
		s.Accesses[i].ErrNS = max(s.Accesses[i].ErrNS, bounds[s.Accesses[i].Node])
	}
}

// settleFaults says which faults were proven: seen to begin and, if healed, to end, in force in the measured part,
// and on target.
func (s *scribe) settleFaults() {
	for _, id := range slices.Sorted(maps.Keys(s.faults)) {
		f := s.faults[id]
		unasked := []string{history.FaultNodeLoss, history.FaultStandstill, history.FaultByHand}
		f.Unasked = slices.Contains(unasked, f.Kind)
		f.Proven = f.Proven && f.Began < Never && (f.Heal == Never || f.Ended < Never || f.Away)
		switch {
		case !f.Proven || f.Asked == Never:
		case s.Measure < s.Drain && (f.Began >= s.Drain || max(f.Heal, f.Began+1) <= s.Measure):
			f.Proven, f.Why = false, "not in force in the measured part"
		case s.missed(f):
			f.Proven, f.Why = false, "it hit no "+cmp.Or(f.Aim.At, "client at "+f.Aim.Point)
		}
		s.Faults = append(s.Faults, *f)
	}
	slices.SortStableFunc(s.Faults, func(a, b Fault) int { return cmp.Compare(a.First(), b.First()) })
}

// missed says that a fault missed its moving target. The node that was found held nothing when it was cut off or
// paused (or, for clocks and disks, while it became wrong), or no paused process had reached the point. Which
// server leads is not on record: the one that was found counts.
func (s *scribe) missed(f *Fault) bool {
	if f.Aim.At == "" && f.Aim.Point == "" {
		return false
	}
	aimed := f.Nodes
	if f.Aim.At != "" {
		aimed = []string{f.Aim.Node}
	}
	return !slices.ContainsFunc(aimed, func(name string) bool {
		n := s.Nodes[name]
		if n == nil {
			return false
		}
		hit := Span{f.Asked, f.Began}
		if f.Cuts() {
			hit.From = f.Began
		}
		stood := func(away Span) bool { return away.From >= f.Asked && away.From <= f.Began+s.ErrNS[n.Host] }
		if i := slices.IndexFunc(n.Away, stood); i >= 0 {
			hit = Span{n.Away[i].From, n.Away[i].From}
		}
		came := func(p history.Event) bool {
			return p.Node == name && p.State == f.Aim.Point && p.AtNS >= f.Asked && p.AtNS <= hit.To
		}
		held := func(a *Acquire) bool {
			return a.Node == name && (f.Aim.Resource == "" || a.Resource == f.Aim.Resource) && a.Granted() && a.At <= hit.To &&
				min(a.Stopped, a.Lost) >= hit.From
		}
		switch {
		case f.Aim.Point != "":
			return slices.ContainsFunc(s.points, came)
		case f.Aim.At == history.AimHolder:
			return slices.ContainsFunc(s.Acquires, held)
		}
		return true
	})
}

// checkNumbers looks for gaps in the numbers of events. They restart with each life of a process, so none is there
// more often than the one before it.
func (s *scribe) checkNumbers() {
	for of, numbers := range s.numbers {
		slices.Sort(numbers)
		want, most := uint64(1), 1 // lives
		if n := s.Nodes[of]; n != nil {
			most = max(n.Starts, 1)
		}
		name := cmp.Or(of, history.TargetController)
		for len(numbers) > 0 {
			n := 1
			for n < len(numbers) && numbers[n] == numbers[0] {
				n++
			}
			switch {
			case numbers[0] != want:
				s.Missing.Add("number %d of the records of %s", want, name)
				most = max(most, n)
			case n > most:
				s.Contradictions.Add("number %d of the records of %s, twice", want, name)
			}
			want, most, numbers = numbers[0]+1, min(most, n), numbers[n:]
		}
	}
}
