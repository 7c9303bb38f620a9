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
)

// Read reads a history file, gzipped or not. One goroutine decodes while another one takes
// the events in. It ends with the context's error when that is done, and with one that names
// the line where the file is not the history of one run.
func Read(ctx context.Context, path string) (r *Run, err error) {
	in, err := history.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()

	const batch = 1024 // events that travel at once
	filled, empty := make(chan []history.Event, 2), make(chan []history.Event, 3)
	for range cap(empty) {
		empty <- make([]history.Event, batch)
	}
	var broken error
	go func() {
		defer close(filled)
		for broken == nil {
			events, n := <-empty, 0
			for n < batch && broken == nil {
				if broken = in.Next(&events[n]); broken == nil {
					n++
				}
			}
			filled <- events[:n]
		}
	}()
	s := newScribe()
	for events := range filled {
		for i := range events {
			if err != nil {
				break
			}
			if err = s.add(&events[i]); err != nil {
				err = fmt.Errorf("%s:%d: %w", path, s.run.Events, err)
			}
		}
		empty <- events[:batch]
	}
	switch {
	case err != nil:
	case !errors.Is(broken, io.EOF):
		err = broken
	case s.run.Events == 0:
		err = fmt.Errorf("%s: %w", path, errNoRun)
	}
	if err != nil {
		return nil, err
	}
	s.run.Torn = in.Torn()
	return s.settle(), nil
}

// Of takes in events that are in memory. The first describes the run.
func Of(events []history.Event) (*Run, error) {
	s := newScribe()
	for i := range events {
		if err := s.add(&events[i]); err != nil {
			return nil, fmt.Errorf("event %d: %w", i+1, err)
		}
	}
	if len(events) == 0 {
		return nil, errNoRun
	}
	return s.settle(), nil
}

var errNoRun = errors.New("the first line is not the description of a run: want a history that locklab wrote")

// begin takes the description of the run, and refuses one that nothing can be judged by.
func (s *scribe) begin(e *history.Event) error {
	workloads := []string{history.Matchmaking, history.Mutex, history.FencedWrite, history.Handoff}
	switch head := e.Run; {
	case s.run.Events > 1:
		return errors.New("a second description of a run: want the history of one run")
	case e.Kind != history.KindRun || head == nil:
		return errNoRun
	case head.Lock == "":
		return errors.New("run.lock: have none, want the name of a lock")
	case !slices.Contains(workloads, head.Workload):
		return fmt.Errorf("run.workload: have %s, want one of %s", head.Workload, strings.Join(workloads, ", "))
	case head.DurationNS < int64(time.Millisecond):
		return fmt.Errorf("run.duration_ns: have %d, want at least a millisecond", head.DurationNS)
	case head.Workload == history.Matchmaking && head.OfferedPS <= 0: // closed loops offer nothing
		return fmt.Errorf("run.offered_per_s: have %g, want more than 0", head.OfferedPS)
	}
	s.run.Head = *e.Run
	return nil
}
