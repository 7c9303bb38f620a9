package check

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Window is a part of a history to look at closely. Its times count from the
// beginning of the measured part, as those of [Example] do.
type Window struct {
	Resource string // empty: all of them
	FromNS   int64
	ToNS     int64
}

// Around is the window around a violation.
func Around(e Example, margin time.Duration) Window {
	return Window{Resource: e.Resource, FromNS: e.AtNS - int64(margin), ToNS: e.AtNS + int64(margin)}
}

const (
	// maxVisible bounds the operations of a picture. Checking takes exponential time
	// at worst, and nobody can read more.
	maxVisible = 400
	// checkTimeout bounds the search in one picture.
	checkTimeout = 5 * time.Second
)

// Visualize checks the holds of a window with porcupine and writes its page (one
// HTML file) to w. The model is one holder at a time, as the clients believed it: the
// grant took effect between question and answer, the release between call and answer, the
// end of a lost lease when its holder noticed. What has an unknown outcome stays open to the
// right: a release may take effect at any later time, an acquisition at any time or never. The
// result is porcupine.Ok if the beliefs fit one holder at a time, Illegal if not. It is
// called after Findings.
func (c *Checker) Visualize(w io.Writer, win Window) (porcupine.CheckResult, error) {
	measure := c.timeline().measure
	shown := span{win.FromNS + measure, win.ToNS + measure}
	var operations []porcupine.Operation
	lines := map[int32]int{} // of the picture, by client
	for _, a := range c.acquires {
		if win.Resource != "" && win.Resource != c.names.text(a.resource) {
			continue
		}
		for _, o := range c.operations(a, shown) {
			client := cmp.Or(a.client, a.node)
			if _, known := lines[client]; !known {
				lines[client] = len(lines)
			}
			o.ClientId = lines[client]
			operations = append(operations, o)
		}
	}
	if len(operations) > maxVisible {
		return porcupine.Unknown, fmt.Errorf("the window has %d operations, at most %d can be drawn: make it shorter, or name one resource", len(operations), maxVisible)
	}
	model := lockModel()
	result, info := porcupine.CheckOperationsVerbose(model, operations, checkTimeout)
	info.AddAnnotations(c.annotations(shown, win.Resource))
	if err := porcupine.Visualize(model, info, w); err != nil {
		return result, fmt.Errorf("draw the window: %w", err)
	}
	return result, nil
}

// step is the input of one operation of the model.
type step struct {
	verb           string // acquire, release, lost, died
	hold, resource string
	unknown        bool
}

const verbAcquire = "acquire"

// operations are an acquisition and the end of its hold, if they touch the time.
func (c *Checker) operations(a *acquire, shown span) []porcupine.Operation {
	s := step{verb: verbAcquire, hold: c.name(a.node) + "/" + brief(a.hold), resource: c.name(a.resource)}
	asked := min(a.asked(), a.at) // porcupine draws nothing that ends before it begins
	switch {
	case a.outcome == unknown && (span{asked, a.at}).meets(shown):
		s.unknown = true
		return []porcupine.Operation{{Input: s, Call: asked, Return: math.MaxInt64, Metadata: c.name(a.errorKind)}}
	case !a.granted() || !(span{a.at, a.until}).meets(shown):
		return nil
	}
	operations := []porcupine.Operation{{Input: s, Call: asked, Return: a.at}}
	back := a.until
	switch died := c.lives[a.node].aliveUntil(a.at); {
	case died == a.until:
		s.verb = "died"
	case a.lost == a.until:
		s.verb = "lost"
	case a.stopped() == a.until:
		s.verb, s.unknown, back = "release", a.answered == math.MaxInt64, a.answered
	default:
		return operations // held to the end
	}
	return append(operations, porcupine.Operation{Input: s, Call: a.until, Return: max(back, a.until)})
}

// annotations are the faults, what became of nodes, and the rooms of the resource.
func (c *Checker) annotations(shown span, resource string) []porcupine.Annotation {
	var list []porcupine.Annotation
	note := func(at int64, tag, state, details, color string) {
		if at >= shown.from && at <= shown.to {
			list = append(list, porcupine.Annotation{Tag: tag, Start: at, End: at, Description: state, Details: details, BackgroundColor: color})
		}
	}
	const broken = "#ffd9b3"
	for _, f := range c.faults {
		for _, state := range faultStates() {
			note(*f.moment(state), "fault "+f.Kind, state, f.ID+" on "+f.Target, broken)
		}
	}
	for node, l := range c.lives {
		for _, e := range l.events {
			note(e.at, "node "+c.name(node), e.state, e.why, broken)
		}
	}
	c.part().notes(resource, note)
	return list
}

// lockModel is a lock for each resource: its state is the hold, "" if it is free.
func lockModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(operations []porcupine.Operation) [][]porcupine.Operation {
			parts := map[string][]porcupine.Operation{}
			for _, o := range operations {
				resource := o.Input.(step).resource
				parts[resource] = append(parts[resource], o)
			}
			return slices.Collect(maps.Values(parts))
		},
		Init: func() any { return "" },
		Step: func(state, input, _ any) (bool, any) {
			holder, s := state.(string), input.(step)
			switch {
			case s.verb == verbAcquire && s.unknown:
				return true, holder // it may never have been granted: it rules nothing out
			case s.verb == verbAcquire:
				return holder == "", s.hold
			default:
				return holder == s.hold, ""
			}
		},
		DescribeOperation: func(input, _ any) string {
			s := input.(step)
			if s.unknown {
				return s.verb + " " + s.resource + ": unknown"
			}
			return s.verb + " " + s.resource + " (" + s.hold + ")"
		},
		DescribeState: func(state any) string { return cmp.Or(state.(string), "free") },
	}
}
