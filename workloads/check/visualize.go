package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"locklab/locks"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
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

// maxVisible bounds the operations of a picture. Checking takes exponential time
// at worst, and nobody can read more.
const maxVisible = 400

// checkTimeout bounds the search in one picture.
const checkTimeout = 5 * time.Second

// Visualize checks the holds of a window with porcupine and writes its page (one
// HTML file) to w. The model is one holder at a time, as the clients believed it: the
// grant took effect between question and answer, the release between call and answer, the
// end of a lost lease when its holder noticed. What has an unknown outcome stays open to the
// right: a release may take effect at any later time, an acquisition at any time or never. The
// result is porcupine.Ok if the beliefs fit one holder at a time, Illegal if not.
func Visualize(w io.Writer, events []history.Event, win Window) (porcupine.CheckResult, error) {
	p := newPicture(win)
	for i := range events {
		p.add(&events[i])
	}
	return p.draw(w)
}

// VisualizeFile is [Visualize] for a history file.
func VisualizeFile(ctx context.Context, w io.Writer, path string, win Window) (result porcupine.CheckResult, err error) {
	r, err := history.Open(ctx, path)
	if err != nil {
		return porcupine.Unknown, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	p := newPicture(win)
	for {
		var e history.Event
		switch err := r.Next(&e); {
		case errors.Is(err, io.EOF):
			return p.draw(w)
		case err != nil:
			return porcupine.Unknown, err
		}
		p.add(&e)
	}
}

// picture collects what may be seen in the window.
type picture struct {
	win     Window
	measure int64
	events  []history.Event // of the resource
	beside  []history.Event // rooms, nodes and faults, as annotations
}

func newPicture(win Window) *picture { return &picture{win: win} }

func (p *picture) add(e *history.Event) {
	switch e.Kind {
	case history.KindPhase:
		if e.State == loadgen.PhaseMeasure {
			p.measure = e.AtNS
		}
	case history.KindAcquire, history.KindReleasing, history.KindRelease, history.KindLost:
		if p.win.Resource == "" || e.Resource == p.win.Resource {
			p.events = append(p.events, *e)
		}
	case history.KindRoom:
		if e.Resource == p.win.Resource {
			p.beside = append(p.beside, *e)
		}
	case history.KindNode, history.KindFault:
		p.beside = append(p.beside, *e)
	case history.KindRun, history.KindMatch, history.KindGrant, history.KindOrder, history.KindClock, history.KindMachine, history.KindGivenUp:
	}
}

// step is the input of one operation of the model.
type step struct {
	verb                   string // acquire, release, lost, died
	client, hold, resource string
	unknown                bool
}

const (
	verbAcquire = "acquire"
	verbRelease = "release"
	verbLost    = "lost"
	verbDied    = "died"
)

// visible is one hold, or an acquisition of unknown outcome.
type visible struct {
	acquire history.Event
	end     *history.Event // the first of release, sent or answered, and loss
	died    int64
}

func (v *visible) until() int64 {
	switch {
	case v.end == nil:
		return v.died
	case v.end.Kind == history.KindRelease:
		return min(v.end.FromNS, v.died)
	}
	return min(v.end.AtNS, v.died)
}

func (p *picture) draw(w io.Writer) (porcupine.CheckResult, error) {
	shown := span{p.win.FromNS + p.measure, p.win.ToNS + p.measure}
	clients := names{of: map[string]int32{}}
	var operations []porcupine.Operation
	for _, v := range p.holds(shown) {
		a := &v.acquire
		id := int(clients.id(cmp.Or(a.Client, a.Node)))
		s := step{verb: verbAcquire, client: a.Client, hold: a.Node + "/" + a.Hold, resource: a.Resource}
		asked := cmp.Or(a.SentNS, a.FromNS)
		if outcomeOf(a) != ok {
			s.unknown = true
			operations = append(operations, porcupine.Operation{ClientId: id, Input: s, Call: asked, Return: math.MaxInt64, Metadata: a.Error})
			continue
		}
		operations = append(operations, porcupine.Operation{ClientId: id, Input: s, Call: asked, Return: a.AtNS})
		call, back := v.until(), v.until()
		switch {
		case call == math.MaxInt64:
			continue
		case call == v.died:
			s.verb = verbDied
		case v.end.Kind == history.KindLost:
			s.verb = verbLost
		default:
			s.verb = verbRelease
			back = v.end.AtNS
			if v.end.Kind == history.KindReleasing || v.end.Outcome == string(locks.OutcomeUnknown) {
				s.unknown, back = true, math.MaxInt64
			}
		}
		operations = append(operations, porcupine.Operation{ClientId: id, Input: s, Call: call, Return: max(back, call)})
	}
	if len(operations) > maxVisible {
		return porcupine.Unknown, fmt.Errorf("the window has %d operations, at most %d can be drawn: make it shorter, or name one resource", len(operations), maxVisible)
	}
	model := lockModel()
	result, info := porcupine.CheckOperationsVerbose(model, operations, checkTimeout)
	info.AddAnnotations(p.annotations(shown))
	if err := porcupine.Visualize(model, info, w); err != nil {
		return result, fmt.Errorf("draw the window: %w", err)
	}
	return result, nil
}

// holds pairs acquisitions with their ends, for those that touch the window.
func (p *picture) holds(shown span) []*visible {
	type key struct{ node, hold string }
	byHold := map[key]*visible{}
	var all []*visible
	slices.SortStableFunc(p.events, func(a, b history.Event) int { return cmp.Compare(a.AtNS, b.AtNS) })
	for _, e := range p.events {
		if e.Kind == history.KindAcquire && outcomeOf(&e) != failed && outcomeOf(&e) != unsent {
			v := &visible{acquire: e, died: p.died(e.Node, e.AtNS)}
			all = append(all, v)
			if e.Hold != "" {
				byHold[key{e.Node, e.Hold}] = v
			}
		}
	}
	for i := range p.events {
		e := &p.events[i]
		v := byHold[key{e.Node, e.Hold}]
		if e.Kind == history.KindAcquire || v == nil {
			continue
		}
		// Of a release that was sent and answered the answer says more.
		other, until := v.until(), (&visible{end: e, died: math.MaxInt64}).until()
		if v.end == nil || until < other || until == other && v.end.Kind == history.KindReleasing {
			v.end = e
		}
	}
	return slices.DeleteFunc(all, func(v *visible) bool {
		if outcomeOf(&v.acquire) == unknown {
			return !span{cmp.Or(v.acquire.SentNS, v.acquire.FromNS), v.acquire.AtNS}.meets(shown)
		}
		return !span{v.acquire.AtNS, v.until()}.meets(shown)
	})
}

// died is until when a node surely lived after a moment.
func (p *picture) died(node string, after int64) int64 {
	first := int64(math.MaxInt64)
	for i := range p.beside {
		e := &p.beside[i]
		if e.Kind == history.KindNode && e.Node == node && e.AtNS >= after && (e.State == "killed" || e.State == "exited" || e.State == "stopped") {
			first = min(first, max(after, cmp.Or(e.FromNS, e.AtNS)))
		}
	}
	return first
}

func (p *picture) annotations(shown span) []porcupine.Annotation {
	var list []porcupine.Annotation
	for i := range p.beside {
		e := &p.beside[i]
		if e.AtNS < shown.from || e.AtNS > shown.to {
			continue
		}
		note := porcupine.Annotation{Start: e.AtNS, End: e.AtNS, Description: e.State, BackgroundColor: "#ffd9b3"}
		switch e.Kind {
		case history.KindFault:
			note.Tag, note.Details = "fault "+e.Fault, e.ID+" on "+e.Target
		case history.KindNode:
			note.Tag, note.Details = "node "+e.Node, e.Error
		default:
			note.Tag, note.Details, note.BackgroundColor = "rooms on "+e.Node, e.Room+" of "+e.Resource, "#d9ead3"
		}
		list = append(list, note)
	}
	return list
}

// lockModel is a lock for each resource: its state is the hold, "" if it is free.
func lockModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(operations []porcupine.Operation) [][]porcupine.Operation {
			resources := names{of: map[string]int32{}}
			var parts [][]porcupine.Operation
			for _, o := range operations {
				id := int(resources.id(o.Input.(step).resource))
				if id == len(parts) {
					parts = append(parts, nil)
				}
				parts[id] = append(parts[id], o)
			}
			return parts
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
