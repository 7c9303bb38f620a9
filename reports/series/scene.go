package series

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"

	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/workloads/history"
)

// Moment is when and what something was violated, as the checkers say, or when an outage or
// a request that failed began.
type Moment struct {
	What, Resource string
	Text           sentence.Text
	AtMS           float64 // since the measured part began
	LastsMS        float64 // of an outage or a request
	Granted        string  // the resource whose grant ended an outage; "" if none did
	Faults         []sentence.Text
}

// Scene is a moment with what happened to its resource around it.
type Scene struct {
	Moment
	Steps []Step // by their beginning
	More  int    // steps that are further away than these
}

// Step is something that somebody did, or that lasted. Times are since the moment; what has
// no end on record ends at +Inf.
type Step struct {
	Who, What    string // What is match, wait, hold, order, room, node or fault
	Text         sentence.Text
	FromMS, ToMS float64
	About        bool // the moment is this: the request that failed, the grant that ended an outage
}

// The margins of a scene: what ended or began further away is not in it, nor is more than
// maxSteps.
const (
	before, after = 100.0, 50.0 // ms
	maxSteps      = 60
)

// Scenes reads from a history what happened around some moments.
func Scenes(ctx context.Context, path string, moments []Moment) (scenes []Scene, err error) {
	if len(moments) == 0 {
		return nil, nil
	}
	wanted := map[string]bool{}
	for _, m := range moments {
		wanted[m.Resource], wanted[m.Granted] = true, true
	}
	r, err := history.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var events []history.Event
	zero := int64(0)
	for {
		var e history.Event
		if err := r.Next(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if e.Kind == history.KindPhase && e.State == "measure" {
			zero = e.AtNS
		}
		if everywhere(e) || wanted[e.Resource] {
			events = append(events, e)
		}
	}
	for _, m := range moments {
		steps, more := stepsAround(events, m, zero)
		scenes = append(scenes, Scene{m, steps, more})
	}
	return scenes, nil
}

// everywhere says that an event concerns all resources.
func everywhere(e history.Event) bool {
	return e.Kind == history.KindNode || e.Kind == history.KindFault
}

// stepsAround are the steps of a scene, and how many more there are.
func stepsAround(events []history.Event, m Moment, zero int64) (steps []Step, more int) {
	at := func(ns int64) float64 { return float64(ns-zero)/1e6 - m.AtMS }
	ours := func(e history.Event) bool {
		return e.Resource == m.Resource || m.Granted != "" && e.Resource == m.Granted
	}
	ends := map[string]float64{} // of holds, by node and name; of faults, by ID
	rooms := map[string]map[string]float64{}
	for _, e := range events {
		key := e.Node + " " + e.Hold
		switch {
		case e.Kind == history.KindFault && e.State == "ended":
			ends[e.ID] = min(orInf(ends, e.ID), at(e.AtNS))
		case !ours(e):
		case e.Kind == history.KindReleasing || e.Kind == history.KindLost:
			ends[key] = min(orInf(ends, key), at(e.AtNS))
		case e.Kind == history.KindRelease:
			ends[key] = min(orInf(ends, key), at(cmp.Or(e.FromNS, e.AtNS)))
		case e.Kind == history.KindRoom:
			if rooms[e.Room] == nil {
				rooms[e.Room] = map[string]float64{}
			}
			rooms[e.Room][e.State] = at(e.AtNS)
		}
	}
	for _, e := range events {
		if !ours(e) && !everywhere(e) {
			continue
		}
		of := stepsOf(e, at, ends, rooms)
		for i := range of {
			of[i].About = m.isAbout(e, of[i])
		}
		if e.Resource != m.Resource && !everywhere(e) { // of another resource only the grant counts
			of = slices.DeleteFunc(of, func(s Step) bool { return !s.About })
		}
		steps = append(steps, of...)
	}
	steps = slices.DeleteFunc(steps, func(s Step) bool { return s.ToMS < -before || s.FromMS > m.LastsMS+after })
	return nearest(steps, 0)
}

// isAbout says that a moment that lasts is this step of an event: a request that is as long as
// the moment, or the grant at its end, and the wait for it.
func (m *Moment) isAbout(e history.Event, s Step) bool {
	same := func(a, b float64) bool { return math.Abs(a-b) < 1e-4 } // 100 ns
	switch {
	case m.LastsMS == 0 || e.Kind != history.KindMatch && e.Kind != history.KindAcquire:
		return false
	case m.Granted == "":
		return m.What != "outage" && same(s.FromMS, 0) && same(s.ToMS, m.LastsMS)
	}
	granted := e.Kind == history.KindAcquire && e.Outcome == "ok" && e.Resource == m.Granted
	return granted && (s.What == "wait" && same(s.ToMS, m.LastsMS) || s.What == "hold" && same(s.FromMS, m.LastsMS))
}

func orInf(m map[string]float64, key string) float64 {
	if v, known := m[key]; known {
		return v
	}
	return math.Inf(1)
}

// stepsOf is what an event tells. Of a room its first event tells all.
func stepsOf(e history.Event, at func(int64) float64, ends map[string]float64, rooms map[string]map[string]float64) []Step {
	from := at(cmp.Or(e.FromNS, e.AtNS))
	switch {
	case e.Kind == history.KindMatch:
		return []Step{{lang.Key("players"), lang.Key("match"), sentence.Of("%s asks %s: %s", e.Client, e.Node, cmp.Or(e.Room, e.Error, e.Outcome)), from, at(e.AtNS), false}}
	case e.Kind == history.KindAcquire && e.Outcome == "ok":
		hold := sentence.Name(e.Hold)
		if e.Token > 0 {
			hold = sentence.Of("%s, token %d", hold, e.Token)
		}
		return []Step{
			{e.Node, lang.Key("wait"), sentence.Of("%s asks for %s", e.Client, e.Resource), from, at(e.AtNS), false},
			{e.Node, lang.Key("hold"), sentence.Of("%s believes that it holds %s (%s)", e.Client, e.Resource, hold), at(e.AtNS), orInf(ends, e.Node+" "+e.Hold), false},
		}
	case e.Kind == history.KindAcquire:
		return []Step{{e.Node, lang.Key("wait"), sentence.Of("%s asks for %s and does not get it: %s", e.Client, e.Resource, cmp.Or(e.Error, e.Outcome)), from, at(e.AtNS), false}}
	case e.Kind == history.KindOrder:
		room := sentence.Name(e.Room)
		if e.Room == "" {
			room = sentence.Of("a room")
		}
		text := sentence.Of("%s looks at the workers and orders %s of %s", e.Client, room, e.Worker)
		if e.Hold != "" {
			text = sentence.Of("%s looks at the workers and orders %s of %s under %s", e.Client, room, e.Worker, e.Hold)
		}
		if len(e.Unreachable) > 0 {
			text = sentence.Of("%s; cannot reach %s", text, strings.Join(e.Unreachable, ", "))
		}
		return []Step{{e.Node, lang.Key("order"), text, from, at(e.AtNS), false}}
	case e.Kind == history.KindRoom && e.State == "starting":
		states := rooms[e.Room]
		text := sentence.Of("room %s, ordered by %s", e.Room, e.Client)
		if opened := orInf(states, "open"); !math.IsInf(opened, 0) {
			text = sentence.Of("%s, open at %+.1f ms", text, opened)
		}
		return []Step{{e.Node, lang.Key("room"), text, at(e.AtNS), min(orInf(states, "full"), orInf(states, "closed")), false}}
	case e.Kind == history.KindFault && e.State == "began":
		return []Step{{lang.Key("faults"), lang.Key("fault"), history.FaultText(e.Fault, e.Target), at(e.AtNS), orInf(ends, e.ID), false}}
	case e.Kind == history.KindNode:
		return []Step{{e.Node, lang.Key("node"), NodeText(e.State), at(e.AtNS), at(e.AtNS), false}}
	}
	return nil
}

// NodeText is what became of a process.
func NodeText(state string) sentence.Text {
	switch state {
	case history.NodeStarted:
		return sentence.Of("was started")
	case history.NodeReady, history.NodeShared:
		return sentence.Of("is ready")
	case history.NodeKilled:
		return sentence.Of("was killed")
	case history.NodePaused, history.NodeSuspended:
		return sentence.Of("was stopped")
	case history.NodeResumed, history.NodeContinued, history.NodeLeft:
		return sentence.Of("goes on")
	case history.NodeStopped:
		return sentence.Of("was stopped in order")
	case history.NodeExited:
		return sentence.Of("ended unasked")
	default:
		return sentence.Of("went with its host")
	}
}
