package record

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// settle makes the record of what was added. The scribe must not be used afterwards.
func (s *scribe) settle() *Run {
	r := s.run
	s.settlePhases()
	s.settleNodes()
	for i := range s.ends {
		if e := &s.ends[i]; !s.addEnd(e) {
			r.Missing.Add("the acquisition of hold %s", e.Hold)
		}
	}
	s.settleAcquires()
	s.widen()
	r.Names = s.list
	slices.SortStableFunc(r.Canaries, func(a, b Acquire) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(r.Orders, func(a, b Order) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(r.Grants, func(a, b Grant) int { return cmp.Compare(a.At, b.At) })
	s.settleFaults()
	s.checkNumbers()
	return r
}

// Complete says that the history is one of the lab, which says what was expected and records
// all that happens. One that was written by hand may lack most of that.
func (r *Run) Complete() bool { return r.Head.Expect != nil }

func (s *scribe) settlePhases() {
	r := s.run
	at := func(phase string, otherwise int64) int64 {
		if at, known := s.phases[phase]; known {
			return at
		}
		return otherwise
	}
	r.End = at(loadgen.PhaseEnd, s.last)
	_, r.Ended = s.phases[loadgen.PhaseEnd]
	first := min(s.first, r.End)
	if _, warmed := s.phases[loadgen.PhaseWarmup]; warmed { // cut short before the measured part
		first = r.End
	}
	r.Measure = at(loadgen.PhaseMeasure, first)
	r.Drain = max(at(loadgen.PhaseDrain, r.End), r.Measure)
	r.End = max(r.End, r.Drain)
	if r.Ended && r.Complete() && len(r.GivenUp) == 0 {
		for _, state := range []string{loadgen.PhaseWarmup, loadgen.PhaseMeasure, loadgen.PhaseDrain} {
			if _, known := s.phases[state]; !known {
				r.Missing.Add("the beginning of the phase %s", state)
			}
		}
	}
}

// settleNodes makes lives of the events of nodes.
func (s *scribe) settleNodes() {
	r := s.run
	for name := range r.Head.NodeHosts {
		s.node(s.name(name))
	}
	delete(s.nodes, 0)
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		n := s.nodes[name]
		n.Host = cmp.Or(r.Head.NodeHosts[s.list[name]], n.Host, s.list[name])
		n.Zone = r.Head.HostZones[n.Host]
		s.settleLife(n)
		r.Nodes = append(r.Nodes, *n)
	}
}

func (s *scribe) settleLife(n *Node) {
	const orderly = 5 * int64(time.Second) / 2 // is how long a process takes at most to end that records all
	slices.SortStableFunc(n.Events, func(a, b NodeEvent) int { return cmp.Compare(a.At, b.At) })
	since, away, dead := int64(0), false, false
	for _, e := range n.Events {
		ends, back := history.NodeEnds(e.State), false
		switch e.State {
		case history.NodeStarted, history.NodeShared:
			if n.Runs {
				s.run.Missing.Add("the end of node %s before it was started again", s.list[n.Name])
			}
			n.Starts, n.Runs, dead, back = n.Starts+1, true, false, true
		case history.NodeLeft:
			n.Runs = false
		case history.NodeReady:
			dead, back = false, true
		case history.NodeResumed, history.NodeContinued:
			back = !dead
		}
		if ends && !dead {
			asked := min(cmp.Or(e.Asked, e.At), e.At)
			n.Deaths = append(n.Deaths, Death{asked, e.State == history.NodeStopped && e.At-asked <= orderly})
			n.Killed = append(n.Killed, e.At)
			n.Runs, dead = false, true
		}
		if gone := ends || e.State == history.NodePaused || e.State == history.NodeSuspended; gone && !away {
			since, away = e.At, true
		}
		if back && away && since < e.At {
			n.Away = append(n.Away, Span{since, e.At})
		}
		away = away && !back
	}
	if away {
		n.Away = append(n.Away, Span{since, Never})
	}
}

// settleAcquires sorts the acquisitions, each of which it moves once, and ends the holds of
// processes that ended. Of the holds that capacity is measured with none counts.
func (s *scribe) settleAcquires() {
	r := s.run
	type key struct {
		from int64
		at   int
	}
	keys, count := map[Name][]key{}, 0
	for n, list := range s.acquires {
		for i := range list {
			of := list[i].Resource
			keys[of] = push(keys[of], key{list[i].From, n*block + i})
		}
		count += len(list)
	}
	r.Acquires = make([]Acquire, 0, count)
	for _, resource := range slices.Sorted(maps.Keys(keys)) {
		own, name := keys[resource], s.list[resource]
		slices.SortFunc(own, func(a, b key) int {
			if a.from != b.from { // most are in order
				return cmp.Compare(a.from, b.from)
			}
			return cmp.Compare(a.at, b.at)
		})
		for _, k := range own {
			a := &s.acquires[k.at/block][k.at%block]
			if a.Granted() {
				r.holds[a.Hold] = 0
				a.Killed = max(a.At, s.nodes[a.Node].Next(a.At).Asked)
				a.Until = min(a.Stopped, a.Lost, a.Killed)
			}
			switch {
			case strings.HasPrefix(name, history.CanaryPrefix):
				r.Canaries = append(r.Canaries, *a)
			case !strings.Contains(name, history.CapacityResource):
				r.Acquires = append(r.Acquires, *a)
				if a.Granted() {
					r.holds[a.Hold] = int32(len(r.Acquires)) //nolint:gosec // far below
				}
			}
		}
	}
	s.acquires = nil
}

// widen gives all times of a host the error bound that was known in the end.
func (s *scribe) widen() {
	r := s.run
	bounds := make([]int64, len(s.list))
	for i := range r.Nodes {
		bounds[r.Nodes[i].Name] = r.ErrNS[r.Nodes[i].Host]
	}
	widen(bounds, r.Acquires, func(a *Acquire) (*int64, Name) { return &a.Err, a.Node })
	widen(bounds, r.Canaries, func(a *Acquire) (*int64, Name) { return &a.Err, a.Node })
	widen(bounds, r.Orders, func(o *Order) (*int64, Name) { return &o.Err, o.Node })
	widen(bounds, r.Rooms, func(e *RoomEvent) (*int64, Name) { return &e.Err, e.Worker })
	widen(bounds, r.Accesses, func(a *Access) (*int64, Name) { return &a.Err, a.Node })
	widen(bounds, r.Grants, func(g *Grant) (*int64, Name) { return &g.Err, g.Node })
}

func widen[T any](bounds []int64, list []T, of func(*T) (*int64, Name)) {
	for i := range list {
		err, node := of(&list[i])
		*err = max(*err, bounds[node])
	}
}

// checkNumbers looks for gaps in the numbers that events bear: those of each process begin
// anew with each of its lives, so none stands more often than the one before it.
func (s *scribe) checkNumbers() {
	r := s.run
	for of, numbers := range s.numbers {
		slices.Sort(numbers)
		want, most := uint64(1), 1            // lives
		if n := s.nodes[Name(of)]; n != nil { //nolint:gosec // a name
			most = max(n.Starts, 1)
		}
		name := cmp.Or(s.list[of], history.TargetController)
		for len(numbers) > 0 {
			n := 1
			for n < len(numbers) && numbers[n] == numbers[0] {
				n++
			}
			switch {
			case numbers[0] != want:
				r.Missing.Add("number %d of the records of %s", want, name)
				most = max(most, n)
			case n > most:
				r.Contradictions.Add("number %d of the records of %s, twice", want, name)
			}
			want, most, numbers = numbers[0]+1, min(most, n), numbers[n:]
		}
	}
}
