package series

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// OfViolation is what happened to the resource of a violation around it.
func OfViolation(run *record.Run, v result.Violation) Scene {
	s := scene{run: run, Moment: Moment{What: string(v.Code), Resource: v.Resource, AtMS: v.AtMS}}
	s.ours = func(resource, _ record.Name) bool { return run.Text(resource) == v.Resource }
	s.about = func(node, hold, room string, _ float64) bool {
		one := func(p result.Party) bool {
			return hold != "" && hold == p.Hold && node == p.Node || room != "" && room == p.Room
		}
		return one(v.First) || one(v.Second)
	}
	return s.draw(run.Acquires)
}

// OfOutage is how the lock was asked for in an outage: by canaries, or for its resource.
func OfOutage(run *record.Run, o result.Outage) Scene {
	s := scene{run: run, Moment: Moment{What: "outage", Resource: o.Of, AtMS: o.FromMS, LastsMS: o.MS()}}
	s.about = func(_, hold, _ string, at float64) bool { return hold != "" && math.Abs(at-s.LastsMS) < 1e-3 }
	zone, ofZone := strings.CutPrefix(o.Of, "zone ")
	asks := run.Canaries
	switch {
	case ofZone:
		s.ours = func(_, node record.Name) bool {
			n := run.Node(node)
			return n != nil && n.Zone == zone
		}
	case o.Of == "":
		s.ours = func(record.Name, record.Name) bool { return true }
	default:
		asks = run.Acquires
		s.ours = func(resource, _ record.Name) bool { return run.Text(resource) == o.Of }
	}
	return s.draw(asks)
}

// scene collects the steps around a moment.
type scene struct {
	Moment
	run   *record.Run
	ours  func(resource, node record.Name) bool
	about func(node, hold, room string, atMS float64) bool // the moment is this
	steps []Step
}

// at is a time since the moment.
func (s *scene) at(ns int64) float64 {
	if ns == record.Never {
		return math.Inf(1)
	}
	return float64(ns-s.run.Measure)/1e6 - s.AtMS
}

func (s *scene) add(who, what string, text sentence.Text, from, to float64, about bool) {
	if to >= -before && from <= s.LastsMS+after {
		s.steps = append(s.steps, Step{who, what, text, from, to, about})
	}
}

func (s *scene) draw(asks []record.Acquire) Scene {
	for i := range asks {
		if a := &asks[i]; s.ours(a.Resource, a.Node) {
			s.ask(a)
		}
	}
	if s.LastsMS == 0 {
		s.players()
	}
	for i := range s.run.Faults {
		if f := &s.run.Faults[i]; f.Proven {
			s.add(lang.Key("faults"), lang.Key("fault"), history.FaultText(f.Kind, f.Target), s.at(f.Began), s.at(f.Ended), false)
		}
	}
	for _, n := range s.run.Nodes {
		for _, e := range n.Events {
			s.add(s.run.Text(n.Name), lang.Key("node"), NodeText(e.State), s.at(e.At), s.at(e.At), false)
		}
	}
	steps, more := nearest(s.steps, s.LastsMS)
	return Scene{s.Moment, steps, more}
}

// ask is an acquisition and the hold that came of it.
func (s *scene) ask(a *record.Acquire) {
	node, resource := s.run.Text(a.Node), s.run.Text(a.Resource)
	from, got := s.at(a.From), s.at(a.At)
	if !a.Granted() {
		s.add(node, lang.Key("wait"), sentence.Of("does not get %s: %s", resource, cmp.Or(s.run.Text(a.ErrorKind), "unknown")), from, got, false)
		return
	}
	about := s.about(node, s.run.Text(a.Hold), "", got)
	s.add(node, lang.Key("wait"), sentence.Of("asks for %s", resource), from, got, about && s.LastsMS > 0)
	hold := sentence.Name(s.run.Text(a.Hold))
	if a.Token > 0 {
		hold = sentence.Of("%s, token %d", hold, a.Token)
	}
	s.add(node, lang.Key("hold"), sentence.Of("holds %s (%s)", resource, hold), got, s.at(a.Until), about)
}

// players are the requests, orders and rooms of the resource, and what its store did.
func (s *scene) players() {
	text := s.run.Text
	for i := range s.run.Requests {
		if q := &s.run.Requests[i]; s.ours(q.Resource, q.Node) {
			s.add(lang.Key("players"), lang.Key("match"), sentence.Of("ask %s: %s", text(q.Node), cmp.Or(text(q.Room), text(q.ErrorKind), "unknown")), s.at(q.From), s.at(q.At), false)
		}
	}
	for i := range s.run.Orders {
		if o := &s.run.Orders[i]; s.ours(o.Resource, o.Node) {
			told := sentence.Of("orders %s of %s", cmp.Or(text(o.Room), text(o.ID)), text(o.Worker))
			if len(o.Unreachable) > 0 {
				var workers []string
				for _, w := range o.Unreachable {
					workers = append(workers, text(w))
				}
				told = sentence.Of("%s; cannot reach %s", told, strings.Join(workers, ", "))
			}
			s.add(text(o.Node), lang.Key("order"), told, s.at(o.From), s.at(o.At), false)
		}
	}
	starts, ends := map[record.Name]*record.RoomEvent{}, map[record.Name]int64{}
	var rooms []record.Name
	for i := range s.run.Rooms {
		e := &s.run.Rooms[i]
		switch {
		case !s.ours(e.Resource, e.Worker):
		case e.State == record.RoomStarting:
			rooms, starts[e.Room] = append(rooms, e.Room), e
		case e.State != record.RoomOpen && ends[e.Room] == 0:
			ends[e.Room] = e.At
		}
	}
	for _, room := range rooms {
		e, end := starts[room], ends[room]
		s.add(text(e.Worker), lang.Key("room"), sentence.Of("%s, ordered by %s", text(room), text(e.Client)), s.at(e.At), s.at(cmp.Or(end, record.Never)), s.about("", "", text(room), 0))
	}
	for i := range s.run.Accesses {
		if a := &s.run.Accesses[i]; s.ours(a.Resource, a.Node) && (a.Kind == record.DidWrite || a.Kind == record.RefusedWrite) {
			told := sentence.Of("write of %s, token %d", text(a.By), a.Token)
			if a.Kind == record.RefusedWrite {
				told = sentence.Of("refuses a write of %s, token %d", text(a.By), a.Token)
			}
			s.add(text(a.Node), lang.Key("write"), told, s.at(a.At), s.at(a.At), s.about(text(a.By), text(a.Hold), "", 0))
		}
	}
}

// nearest are the steps around a moment that lasts so long, by their beginning, and how many are
// left out: those furthest away, but no fault and not what the moment is about.
func nearest(steps []Step, lastsMS float64) (near []Step, more int) {
	if more = max(0, len(steps)-maxSteps); more > 0 {
		distance := func(s Step) float64 {
			if s.What == "fault" || s.About {
				return -1
			}
			return max(s.FromMS-lastsMS, -s.ToMS, 0)
		}
		slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(distance(a), distance(b)) })
		steps = steps[:maxSteps]
	}
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(a.FromMS, b.FromMS) })
	return steps, more
}
