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
	run, expect := e.Run, history.Expect{}
	if run.Expect != nil {
		expect = *run.Expect
	}
	const (
		mostPS   = 1e9
		longName = 200
	)
	workloads, least := []string{history.Matchmaking, history.Mutex, history.FencedWrite, history.Handoff}, 0.0
	if run.Workload == history.Matchmaking { // closed loops offer nothing
		least = 1e-6
	}
	words := []string{result.Live, result.Stalls, result.Down}
	share := func(v float64) bool { return v >= 0 && v <= 1 }
	for _, field := range []struct {
		valid      bool
		name, want string
		have       any
	}{
		{run.Lock != "" && len(run.Lock) <= longName, "lock", "the name of a lock", brief(run.Lock)},
		{len(run.Scenario) <= longName, "scenario", "the name of a scenario", brief(run.Scenario)},
		{slices.Contains(workloads, run.Workload), "workload", "one of " + strings.Join(workloads, ", "), brief(run.Workload)},
		{run.DurationNS >= int64(time.Millisecond), "duration_ns", "at least a millisecond", run.DurationNS},
		{run.OfferedPS >= least && run.OfferedPS <= mostPS, "offered_per_s", fmt.Sprintf("%g to %g", least, mostPS), run.OfferedPS},
		{slices.Contains([]string{"", result.Safe, result.Unsafe}, expect.Safety), "expect.safety", result.Safe + " or " + result.Unsafe, brief(expect.Safety)},
		{
			!slices.ContainsFunc(expect.Liveness, func(l string) bool { return !slices.Contains(words, l) }),
			"expect.liveness", "any of " + strings.Join(words, ", "), brief(strings.Join(expect.Liveness, ", ")),
		},
		{share(expect.Availability.Outside) && share(expect.Availability.During), "expect.availability", "shares from 0 to 1", expect.Availability},
	} {
		if !field.valid {
			return fmt.Errorf("run.%s: have %v, want %s", field.name, field.have, field.want)
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
