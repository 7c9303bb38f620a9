package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"locklab/workloads/history"
	"locklab/workloads/result"
)

// batchSize is how many events travel from the reader at once.
const batchSize = 1024

// batch is a number of events, and how the reading of them ended.
type batch struct {
	events []history.Event
	err    error // io.EOF after the last one
}

// Read reads a history file, gzipped or not. One goroutine decodes while another one takes
// the events in. It ends with the context's error when that is done, and with one that names
// the line where the file is not the history of one run.
func Read(ctx context.Context, path string) (r *Run, err error) {
	in, err := history.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()

	filled, empty := make(chan batch, 2), make(chan batch, 3)
	for range cap(empty) {
		empty <- batch{events: make([]history.Event, batchSize)}
	}
	go decode(in, path, filled, empty)
	s := newScribe()
	for b := range filled {
		for i := range b.events {
			s.add(&b.events[i])
		}
		if b.err != nil && !errors.Is(b.err, io.EOF) {
			return nil, b.err // the reader has ended, too
		}
		empty <- batch{events: b.events[:batchSize]}
	}
	s.run.Torn = in.Torn()
	return s.settle(), nil
}

// decode reads until the end or an error, which comes with the last batch.
func decode(in *history.Reader, path string, filled chan<- batch, empty <-chan batch) {
	defer close(filled)
	begun := false
	for b := range empty {
		for n := range b.events {
			e := &b.events[n]
			err := in.Next(e)
			if err == nil && (!begun || e.Kind == history.KindRun) {
				if err = validHead(e, begun); err != nil {
					err = fmt.Errorf("%s:%d: %w", path, in.Lines(), err)
				}
				begun = true
			}
			if errors.Is(err, io.EOF) && !begun {
				err = fmt.Errorf("%s: %w", path, errNoRun)
			}
			if err != nil {
				filled <- batch{b.events[:n], err}
				return
			}
		}
		filled <- b
	}
}

// Of takes in events that are in memory. The first describes the run.
func Of(events []history.Event) (*Run, error) {
	s := newScribe()
	for i := range events {
		if i == 0 || events[i].Kind == history.KindRun {
			if err := validHead(&events[i], i > 0); err != nil {
				return nil, fmt.Errorf("event %d: %w", i+1, err)
			}
		}
		s.add(&events[i])
	}
	if len(events) == 0 {
		return nil, errNoRun
	}
	return s.settle(), nil
}

var (
	errNoRun  = errors.New("the first line is not the description of a run: want a history that locklab wrote")
	errTwoRun = errors.New("a second description of a run: want the history of one run")
)

// validHead refuses a history that does not begin with its run, or has two of them, and a
// run that nothing can be judged by.
func validHead(e *history.Event, begun bool) error {
	switch {
	case begun:
		return errTwoRun
	case e.Kind != history.KindRun || e.Run == nil:
		return errNoRun
	}
	run := e.Run
	const (
		mostPS   = 1e9
		longName = 200
	)
	workloads := []string{history.Matchmaking, history.Mutex, history.FencedWrite, history.Handoff}
	least := 0.0 // closed loops offer nothing
	if run.Workload == history.Matchmaking {
		least = 1e-6
	}
	switch {
	case run.Lock == "" || len(run.Lock) > longName:
		return fmt.Errorf("run.lock %q: want the name of a lock", brief(run.Lock))
	case len(run.Scenario) > longName:
		return fmt.Errorf("run.scenario %q: want the name of a scenario", brief(run.Scenario))
	case !slices.Contains(workloads, run.Workload):
		return fmt.Errorf("run.workload %q: want one of %s", brief(run.Workload), strings.Join(workloads, ", "))
	case run.DurationNS < int64(time.Millisecond):
		return fmt.Errorf("run.duration_ns %d: want at least %d, a millisecond", run.DurationNS, time.Millisecond)
	case !(run.OfferedPS >= least && run.OfferedPS <= mostPS):
		return fmt.Errorf("run.offered_per_s %v: want %g to %g", run.OfferedPS, least, mostPS)
	case run.Expect != nil:
		return validExpect(run.Expect)
	}
	return nil
}

// validExpect refuses words that no verdict could be judged by.
func validExpect(e *history.Expect) error {
	if e.Safety != "" && e.Safety != result.Safe && e.Safety != result.Unsafe {
		return fmt.Errorf("run.expect.safety %q: want %s or %s", brief(e.Safety), result.Safe, result.Unsafe)
	}
	for _, l := range e.Liveness {
		if l != result.Live && l != result.Stalls && l != result.Down {
			return fmt.Errorf("run.expect.liveness %q: want %s, %s or %s", brief(l), result.Live, result.Stalls, result.Down)
		}
	}
	for _, share := range []float64{e.Availability.Outside, e.Availability.During} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("run.expect.availability %v: want shares from 0 to 1", share)
		}
	}
	return nil
}

// brief is a name that may be long, as it is told.
func brief(name string) string {
	const most = 100
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}
