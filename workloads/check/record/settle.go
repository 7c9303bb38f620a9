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
		if e := &s.ends[i]; !s.endHold(e) {
			r.Missing.Add("the acquisition of hold %s", brief(s.list[e.hold]))
		}
	}
	s.settleAcquires()
	s.widen()
	r.Names, r.names = s.list, s.few
	slices.SortStableFunc(r.Canaries, func(a, b Acquire) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(r.Orders, func(a, b Order) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(r.Grants, func(a, b Grant) int { return cmp.Compare(a.At, b.At) })
	s.settleFaults()
	s.checkNumbers()
	if r.Ended && r.Complete() {
		for _, host := range slices.Sorted(maps.Keys(s.unsure)) {
			if _, known := r.ErrNS[host]; !known {
				r.Missing.Add("how far the clock of host %s was off in the end", brief(host))
			}
		}
	}
	return r
}

// Complete says that the history is one of the lab, which says what was expected and records
// all that happens. One that was written by hand may lack most of that.
func (r *Run) Complete() bool { return r.Head.Expect != nil }

func (s *scribe) settlePhases() {
	r := s.run
	warmup, warmed := s.phases[loadgen.PhaseWarmup]
	measure, measured := s.phases[loadgen.PhaseMeasure]
	drain, drained := s.phases[loadgen.PhaseDrain]
	r.End, r.Ended = s.phases[loadgen.PhaseEnd]
	if !r.Ended {
		r.End = s.last
	}
	switch {
	case measured:
	case warmed && r.Head.WarmupNS > 0: // interrupted in the warm-up
		measure = min(warmup+r.Head.WarmupNS, r.End)
	default:
		measure = min(s.first, r.End)
	}
	if !warmed {
		warmup = measure
	}
	if !drained {
		drain = r.End
	}
	r.Warmup, r.Measure, r.Drain = warmup, measure, max(drain, measure)
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
	acts := func(name Name) { s.node(name).Acts = true }
	for _, list := range s.acquires {
		for i := range list {
			if i == 0 || list[i].Node != list[i-1].Node {
				acts(list[i].Node)
			}
		}
	}
	for i := range r.Orders {
		acts(r.Orders[i].Node)
	}
	for i := range r.Rooms {
		acts(r.Rooms[i].Worker)
	}
	for i := range r.Accesses {
		acts(r.Accesses[i].Node)
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
	since, away, end := int64(0), false, "" // of its last life; "" while it lives
	for _, e := range n.Events {
		ends, back := history.NodeEnds(e.State), false
		switch e.State {
		case history.NodeStarted, history.NodeShared:
			if n.Runs {
				s.run.Missing.Add("the end of node %s before it was started again", brief(s.list[n.Name]))
			}
			n.Starts, n.Runs, end, back = n.Starts+1, true, "", true
		case history.NodeLeft:
			n.Runs = false
		case history.NodeReady:
			end, back = "", true
		case history.NodeResumed, history.NodeContinued:
			back = end == ""
		}
		switch {
		case ends && end == "":
			asked := min(cmp.Or(e.Asked, e.At), e.At)
			n.Deaths = append(n.Deaths, Death{asked, e.At, e.State == history.NodeStopped && e.At-asked <= orderly})
			n.Killed = append(n.Killed, e.At)
		case ends && e.State != history.NodeLost && end != history.NodeLost:
			s.run.Contradictions.Add("the end of node %s, twice", brief(s.list[n.Name]))
		}
		if ends {
			n.Runs, end = false, cmp.Or(end, e.State)
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
	if len(r.ErrNS) == 0 {
		return
	}
	bounds := make([]int64, len(s.list))
	for i := range r.Nodes {
		bounds[r.Nodes[i].Name] = r.ErrNS[r.Nodes[i].Host]
	}
	apply := func(err *int64, node Name) { *err = max(*err, bounds[node]) }
	for _, list := range [][]Acquire{r.Acquires, r.Canaries} {
		for i := range list {
			apply(&list[i].Err, list[i].Node)
		}
	}
	for i := range r.Orders {
		apply(&r.Orders[i].Err, r.Orders[i].Node)
	}
	for i := range r.Rooms {
		apply(&r.Rooms[i].Err, r.Rooms[i].Worker)
	}
	for i := range r.Accesses {
		apply(&r.Accesses[i].Err, r.Accesses[i].Node)
	}
	for i := range r.Grants {
		apply(&r.Grants[i].Err, r.Grants[i].Node)
	}
}

// checkNumbers looks for gaps in the numbers that events bear: those of each process begin
// anew with each of its lives, so none stands more often than the one before it.
func (s *scribe) checkNumbers() {
	r := s.run
	if s.bare > 0 && s.bare < r.Events { // one that was written by hand has no number at all
		r.Missing.Add("the number of an event")
		r.Missing.N += s.bare - 1
	}
	for of, numbers := range s.numbers {
		slices.Sort(numbers)
		want, most := uint64(1), 1 // lives
		if of != 0 {
			most = len(numbers)
			if n := s.nodes[Name(of)]; n != nil && n.Starts > 0 { //nolint:gosec // a name
				most = n.Starts
			}
		}
		name := cmp.Or(brief(s.list[of]), history.TargetController)
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
