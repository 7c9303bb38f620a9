// Package visualize draws the holds of a part of a history with porcupine, as one page of HTML.
//
// The model is one holder at a time, as the clients believed it: a grant takes effect between request and answer,
// a release between call and answer, the end of a lost lease when its holder notices. A release without an answer
// may take effect at any later time.
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
	hold string
	end  string // how the hold ended; "" is its acquisition
}

// Write draws the holds of a resource in a span, and says whether the clients' beliefs fit one holder at a time.
func Write(w io.Writer, r *record.Run, resource string, shown record.Span) (porcupine.CheckResult, error) {
	var operations []porcupine.Operation
	clients := map[[2]string]int{}
	for _, a := range r.Acquires {
		if !a.Granted() || a.Resource != resource || a.From > shown.To || max(a.At, a.Until) < shown.From {
			continue
		}
		client := [2]string{a.Node, a.Client}
		if _, known := clients[client]; !known {
			clients[client] = len(clients)
		}
		id, hold := clients[client], a.Node+"/"+a.Hold
		operations = append(operations, porcupine.Operation{
			ClientId: id, Input: step{hold: hold}, Call: min(a.From, a.At), Return: a.At,
		})
		if a.Until != record.Never {
			end, back := "release", a.Answered
			switch a.Until {
			case a.Killed:
				end, back = "died", a.Until
			case a.Lost:
				end, back = "lost", a.Until
			}
			operations = append(operations, porcupine.Operation{
				ClientId: id, Input: step{hold, end}, Call: a.Until, Return: max(back, a.Until),
			})
		}
	}
	if len(operations) > most {
		return porcupine.Unknown, fmt.Errorf("the window has %d operations, at most %d can be drawn", len(operations), most)
	}
	result, info := porcupine.CheckOperationsVerbose(lockModel(), operations, timeout)
	if err := porcupine.Visualize(lockModel(), info, w); err != nil {
		return result, fmt.Errorf("draw the window: %w", err)
	}
	return result, nil
}

// lockModel is a lock: its state is the hold, "" if it is free.
func lockModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return "" },
		Step: func(state, input, _ any) (bool, any) {
			holder, s := state.(string), input.(step)
			if s.end != "" {
				return holder == s.hold, ""
			}
			return holder == "", s.hold
		},
		DescribeOperation: func(input, _ any) string {
			s := input.(step)
			return cmp.Or(s.end, "acquire") + " (" + s.hold + ")"
		},
		DescribeState: func(state any) string { return cmp.Or(state.(string), "free") },
	}
}
