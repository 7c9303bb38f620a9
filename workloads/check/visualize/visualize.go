// Package visualize draws the holds of a part of a history with porcupine, as one page of HTML.
//
// The model is one holder at a time, as the clients believed it: the grant took effect between
// question and answer, the release between call and answer, the end of a lost lease when its
// holder noticed. A release without an answer may take effect at any later time.
package visualize

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/anishathalye/porcupine"

	"locklab/workloads/check/record"
)

const (
	most    = 400             // operations of a picture: checking takes exponential time at worst
	timeout = 5 * time.Second // of the search in one picture
)

// step is the input of one operation of the model.
type step struct {
	verb, hold string
	unknown    bool
}

// Write draws a time of a resource, and says whether the beliefs fit one holder at a time.
func Write(w io.Writer, r *record.Run, resource string, shown record.Span) (porcupine.CheckResult, error) {
	var operations []porcupine.Operation
	clients := map[[2]string]int{}
	for _, a := range r.Acquires {
		if a.Resource != resource || a.From > shown.To || max(a.At, a.Until) < shown.From {
			continue
		}
		client := [2]string{a.Node, a.Client}
		if _, known := clients[client]; !known {
			clients[client] = len(clients)
		}
		for _, o := range operationsOf(a) {
			o.ClientId = clients[client]
			operations = append(operations, o)
		}
	}
	if len(operations) > most {
		return porcupine.Unknown, fmt.Errorf("the window has %d operations, at most %d can be drawn", len(operations), most)
	}
	model := lockModel()
	result, info := porcupine.CheckOperationsVerbose(model, operations, timeout)
	info.AddAnnotations(annotations(r, shown))
	if err := porcupine.Visualize(model, info, w); err != nil {
		return result, fmt.Errorf("draw the window: %w", err)
	}
	return result, nil
}

// operationsOf are an acquisition and the end of its hold.
func operationsOf(a *record.Acquire) []porcupine.Operation {
	s := step{verb: "acquire", hold: a.Node + "/" + a.Hold}
	asked := min(a.From, a.At) // porcupine draws nothing that ends before it begins
	if a.Outcome == record.Unknown {
		s.unknown = true
		return []porcupine.Operation{{Input: s, Call: asked, Return: record.Never, Metadata: a.ErrorKind}}
	}
	if !a.Granted() {
		return nil
	}
	operations := []porcupine.Operation{{Input: s, Call: asked, Return: a.At}}
	back := a.Until
	switch a.Until {
	case record.Never:
		return operations // held to the end
	case a.Killed:
		s.verb = "died"
	case a.Lost:
		s.verb = "lost"
	default:
		s.verb, s.unknown, back = "release", a.Answered == record.Never, a.Answered
	}
	return append(operations, porcupine.Operation{Input: s, Call: a.Until, Return: max(back, a.Until)})
}

// annotations are the faults and what became of nodes.
func annotations(r *record.Run, shown record.Span) (list []porcupine.Annotation) {
	note := func(at int64, tag, state, details string) {
		if at >= shown.From && at <= shown.To {
			one := porcupine.Annotation{Tag: tag, Start: at, End: at, Description: state, Details: details}
			one.BackgroundColor = "#ffd9b3"
			list = append(list, one)
		}
	}
	for _, f := range r.Faults {
		for state, at := range map[string]int64{"began": f.Began, "heal-asked": f.Heal, "ended": f.Ended} {
			note(at, "fault "+f.Kind, state, f.ID+" on "+f.Target)
		}
	}
	for _, n := range r.Nodes {
		for _, e := range n.Events {
			note(e.AtNS, "node "+n.Name, e.State, e.Error)
		}
	}
	return list
}

// lockModel is a lock: its state is the hold, "" if it is free.
func lockModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return "" },
		Step: func(state, input, _ any) (bool, any) {
			holder, s := state.(string), input.(step)
			switch {
			case s.verb != "acquire":
				return holder == s.hold, ""
			case s.unknown:
				return true, holder // it may never have been granted: it rules nothing out
			}
			return holder == "", s.hold
		},
		DescribeOperation: func(input, _ any) string { s := input.(step); return s.verb + " (" + s.hold + ")" },
		DescribeState:     func(state any) string { return cmp.Or(state.(string), "free") },
	}
}
