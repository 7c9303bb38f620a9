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

// Scene is what happened to a resource around a moment: a violation, or the beginning of an outage.
type Scene struct {
	What, Resource string  // What is the code of the violation, or outage
	AtMS           float64 // since the measured part began
	LastsMS        float64 // of an outage
	Steps          []Step  // by their beginning
}

// Step is an act, or a state that lasted. Times are since the moment; an end that is not on
// record is +Inf.
type Step struct {
	Who, What    string // What is match, wait, hold, order, room, node or fault
	Text         sentence.Text
	FromMS, ToMS float64
	About        bool // the moment is this: a hold or room of the violation, the grant that ended an outage
}

// The margins of a scene: what ended or began further away is not in it, nor is more than
// maxSteps.
const (
	before, after = 100.0, 50.0 // ms
	maxSteps      = 60
)

// OfViolation is what happened to the resource of a violation around it.
func OfViolation(run *record.Run, v result.Violation) Scene {
	s := scene{run: run, Scene: Scene{What: string(v.Code), Resource: v.Resource, AtMS: v.AtMS}}
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
	s := scene{run: run, Scene: Scene{What: "outage", Resource: o.Of, AtMS: o.FromMS, LastsMS: o.MS()}}
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
	Scene
	run   *record.Run
	ours  func(resource, node record.Name) bool
	about func(node, hold, room string, atMS float64) bool // the moment is this
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
		s.Steps = append(s.Steps, Step{who, what, text, from, to, about})
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
	s.nearest()
	return s.Scene
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

// nearest leaves out the steps furthest away from the moment, if there are too many, but no fault
// and nothing that the moment is about.
func (s *scene) nearest() {
	distance := func(step Step) float64 {
		if step.What == "fault" || step.About {
			return -1
		}
		return max(step.FromMS-s.LastsMS, -step.ToMS, 0)
	}
	slices.SortStableFunc(s.Steps, func(a, b Step) int { return cmp.Compare(distance(a), distance(b)) })
	s.Steps = s.Steps[:min(len(s.Steps), maxSteps)]
	slices.SortStableFunc(s.Steps, func(a, b Step) int { return cmp.Compare(a.FromMS, b.FromMS) })
}

// NodeText is what became of a process.
func NodeText(state string) sentence.Text {
	switch state {
	case history.NodeStarted:
		return sentence.Of("was started")
	case history.NodeReady:
		return sentence.Of("is ready")
	case history.NodeKilled:
		return sentence.Of("was killed")
	case history.NodePaused, history.NodeSuspended:
		return sentence.Of("was stopped")
	case history.NodeResumed, history.NodeContinued:
		return sentence.Of("goes on")
	case history.NodeStopped:
		return sentence.Of("was stopped in order")
	case history.NodeExited:
		return sentence.Of("ended unasked")
	default:
		return sentence.Of("went with its host")
	}
}
