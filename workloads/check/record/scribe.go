package record

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"locklab/locks"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// scribe takes in the events of one history, one by one.
type scribe struct {
	run *Run
	table
	acquires    [][]Acquire     // in the order of the file
	ends        []history.Event // of holds whose acquisition comes later, or never
	phases      map[string]int64
	nodes       map[Name]*Node
	points      []point
	numbers     [][]uint64 // that the events of each node bear, by its name; at 0 of the file's own lines
	first, last int64      // operation; time of all
}

// block is how many acquisitions are kept together.
const block = 1 << 12

// point says that a process had come to a point of its work.
type point struct {
	at    int64
	node  Name
	point string
}

func newScribe() *scribe {
	return &scribe{
		run: &Run{ErrNS: map[string]int64{}}, table: newTable(), phases: map[string]int64{}, nodes: map[Name]*Node{},
		first: Never, last: math.MinInt64,
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

// add takes one event. It keeps nothing of e but strings and lists.
func (s *scribe) add(e *history.Event) error {
	r := s.run
	if r.Events++; r.Events == 1 || e.Kind == history.KindRun {
		if err := s.begin(e); err != nil {
			return err
		}
	}
	node := s.name(e.Node)
	switch {
	case e.Seq > 0:
		s.keep(node, e.Seq)
	case e.Line > 0:
		s.keep(0, e.Line)
	}
	if e.Kind != history.KindClock && e.Kind != history.KindCapacity { // those are recorded after all was over
		s.last = max(s.last, e.AtNS)
	}
	if from, sent := cmp.Or(e.FromNS, math.MinInt64), cmp.Or(e.SentNS, e.AtNS); from > sent || sent > e.AtNS {
		r.Contradictions.Add("the event %s of %s was answered before it was asked for", e.Kind, cmp.Or(e.Client, e.Node, e.Host, history.TargetController))
	}
	switch e.Kind {
	case history.KindAcquire:
		s.addAcquire(e, node)
	case history.KindReleasing, history.KindRelease, history.KindLost:
		if e.Hold != "" && !s.addEnd(e) {
			s.ends = append(s.ends, *e)
		}
	case history.KindMatch:
		s.first = min(s.first, e.FromNS)
		r.Requests = push(r.Requests, Request{
			From: e.FromNS, Sent: e.SentNS, At: e.AtNS, Node: node, Client: s.name(e.Client), Resource: s.name(e.Resource),
			ErrorKind: s.name(e.Error), Room: s.name(e.Room), Worker: s.name(e.Worker), Outcome: outcomeOf(e), Count: countOf(e),
		})
	case history.KindOrder:
		o := Order{
			From: e.FromNS, Sent: e.SentNS, At: e.AtNS, Err: e.ErrNS, Node: node, Resource: s.name(e.Resource), Worker: s.name(e.Worker),
			ID: s.name(e.Order), Room: s.name(e.Room), Hold: s.name(e.Hold), Outcome: outcomeOf(e),
		}
		for _, name := range e.Unreachable {
			o.Unreachable = append(o.Unreachable, s.name(name))
		}
		r.Orders = append(r.Orders, o)
	case history.KindRoom:
		r.Rooms = push(r.Rooms, RoomEvent{
			At: e.AtNS, Err: e.ErrNS, Room: s.name(e.Room), Order: s.name(e.Order), Worker: node, Resource: s.name(e.Resource),
			Client: s.name(e.Client), State: roomStateOf(e.State),
		})
	case history.KindRead, history.KindWrite:
		r.Accesses = append(r.Accesses, Access{
			At: e.AtNS, Err: e.ErrNS, Node: node, By: s.name(e.Client), Resource: s.name(e.Resource), Hold: s.name(e.Hold),
			Token: e.Token, Version: e.Version, Base: e.Base, Kind: accessOf(e),
		})
	case history.KindGrant:
		r.Grants = append(r.Grants, Grant{At: e.AtNS, Err: e.ErrNS, Node: node, Resource: s.name(e.Resource), Token: e.Token})
	default:
		s.addRare(e, node)
	}
	return nil
}

// addRare takes the events of which a history has few.
func (s *scribe) addRare(e *history.Event, node Name) {
	r := s.run
	switch e.Kind { //nolint:exhaustive // add has taken the others
	case history.KindPhase:
		s.phases[e.State] = e.AtNS
	case history.KindNode:
		n := s.node(node)
		n.Host = cmp.Or(n.Host, e.Host)
		n.Events = append(n.Events, NodeEvent{At: e.AtNS, Asked: e.FromNS, State: e.State, Why: e.Error, Log: e.Log})
	case history.KindPoint:
		s.points = append(s.points, point{e.AtNS, node, e.State})
	case history.KindFault:
		s.addFault(e)
	case history.KindClock:
		r.ErrNS[e.Host] = max(r.ErrNS[e.Host], e.ErrNS)
	case history.KindGivenUp:
		r.GivenUp = append(r.GivenUp, e.Error)
	case history.KindMachine:
		if e.Machine != nil && e.FromNS < e.AtNS {
			r.Machines = append(r.Machines, Machine{Span{e.FromNS, e.AtNS}, e.Host, *e.Machine})
		}
	case history.KindUsage:
		for _, u := range e.Usage {
			if u.Node != "" && e.FromNS < e.AtNS {
				r.Usage = append(r.Usage, Usage{Span{e.FromNS, e.AtNS}, s.name(u.Node), u})
			}
		}
	case history.KindRate:
		r.Rates = append(r.Rates, Rate{e.AtNS, float64(e.Count)})
	case history.KindCapacity:
		if e.SentNS < e.AtNS {
			r.Capacities = append(r.Capacities, Capacity{e.FromNS, e.SentNS, e.AtNS, e.State, e.Count})
		}
	}
}

func (s *scribe) addAcquire(e *history.Event, node Name) {
	if last := len(s.acquires) - 1; last < 0 || len(s.acquires[last]) == block {
		s.acquires = append(s.acquires, make([]Acquire, 0, block))
	}
	list := &s.acquires[len(s.acquires)-1]
	*list = (*list)[:len(*list)+1]
	a := &(*list)[len(*list)-1]
	a.From, a.Sent, a.At, a.Err, a.Token, a.Messages, a.Wakeups = e.FromNS, e.SentNS, e.AtNS, e.ErrNS, e.Token, e.Messages, e.Wakeups
	a.Node, a.Client, a.Resource, a.ErrorKind, a.Hold = node, s.name(e.Client), s.name(e.Resource), s.name(e.Error), s.name(e.Hold)
	a.Count, a.Outcome = countOf(e), outcomeOf(e)
	a.Stopped, a.Lost, a.Answered, a.Killed, a.Until = Never, Never, Never, Never, Never
	s.first = min(s.first, a.From)
	switch {
	case a.Granted():
		at := s.holdAt(a.Hold)
		if *at != 0 {
			s.run.Contradictions.Add("the acquisition of hold %s, twice", e.Hold)
		}
		*at = int32((len(s.acquires)-1)*block + len(*list)) //nolint:gosec // far below
	case a.Outcome == OK && !strings.HasPrefix(e.Resource, history.CanaryPrefix): // of theirs there are none
		s.run.Missing.Add("the name of a hold that %s got", e.Client)
	}
}

// holdAt is where the place of a hold's acquisition is kept, 1 for the first.
func (s *scribe) holdAt(hold Name) *int32 {
	for len(s.run.holds) <= int(hold) {
		s.run.holds = push(s.run.holds, 0)
	}
	return &s.run.holds[hold]
}

// addEnd notes the end of a hold, unless its beginning is not on record so far.
func (s *scribe) addEnd(e *history.Event) bool {
	at := int(*s.holdAt(s.name(e.Hold))) - 1
	if at < 0 {
		return false
	}
	a := &s.acquires[at/block][at%block]
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
	return true
}

// node has what is known of a node so far.
func (s *scribe) node(name Name) *Node {
	n := s.nodes[name]
	if n == nil {
		n = &Node{Name: name}
		s.nodes[name] = n
	}
	return n
}

// keep keeps a number that an event of the node bears.
func (s *scribe) keep(node Name, n uint64) {
	for len(s.numbers) <= int(node) {
		s.numbers = append(s.numbers, nil)
	}
	s.numbers[node] = push(s.numbers[node], n)
}

func countOf(e *history.Event) uint32 { return uint32(min(max(e.Count, 1), math.MaxUint32)) } //nolint:gosec // bounded

func roomStateOf(state string) RoomState {
	return RoomState(max(slices.Index([]string{"starting", "open", "full", "closed"}, state), 0)) //nolint:gosec // one of four
}

func accessOf(e *history.Event) AccessKind {
	switch {
	case e.Kind == history.KindRead && e.State == history.WriteRefused:
		return RefusedRead
	case e.Kind == history.KindRead:
		return DidRead
	case e.State == history.WriteAccepted:
		return DidWrite
	case e.State == history.WriteRefused:
		return RefusedWrite
	}
	return Untold
}
