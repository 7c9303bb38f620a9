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

	"locklab/internal/sentence"
	"locklab/workloads/history"
)

// batchSize is how many events travel from the reader to the checker at once.
const batchSize = 1024

// batch is a number of events, and how the reading of them ended.
type batch struct {
	events []history.Event
	lines  []line // those without a number
	err    error  // io.EOF after the last one
}

// line is one of the file that bears no number to tell it from others.
type line struct {
	sum   uint64
	event int // its place among the events, from 1
}

// File judges a history file.
func File(ctx context.Context, path string, opts Options) (*Findings, error) {
	c, err := Read(ctx, path, opts)
	if err != nil {
		return nil, err
	}
	return c.Findings(), nil
}

// Read gives a history file, gzipped or not, to a checker, without loading it as a whole.
// One goroutine decodes while another one checks. It ends with the context's error when
// that is done, and with one that names the line where the file is not the history of
// one run.
func Read(ctx context.Context, path string, opts Options) (c *Checker, err error) {
	r, err := history.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()

	filled, empty := make(chan batch, 2), make(chan batch, 3)
	for range cap(empty) {
		empty <- batch{events: make([]history.Event, batchSize)}
	}
	go decode(r, path, opts.Workloads, filled, empty)
	c = New(opts)
	var lines []line
	for b := range filled {
		for i := range b.events {
			c.Add(&b.events[i])
		}
		if b.err != nil && !errors.Is(b.err, io.EOF) {
			return nil, b.err // the reader has ended, too
		}
		lines = append(lines, b.lines...)
		empty <- batch{events: b.events[:batchSize], lines: b.lines[:0]}
	}
	if r.Torn() {
		c.Torn()
	}
	c.addLines(lines)
	return c, nil
}

// decode reads until the end or an error, which comes with the last batch.
func decode(r *history.Reader, path string, workloads []Workload, filled chan<- batch, empty <-chan batch) {
	defer close(filled)
	begun, read := false, 0
	for b := range empty {
		for n := range b.events {
			e := &b.events[n]
			err := r.Next(e)
			if err == nil && (!begun || e.Kind == history.KindRun) {
				if err = validHead(e, begun, workloads); err != nil {
					err = fmt.Errorf("%s:%d: %w", path, r.Lines(), err)
				}
				begun = true
			}
			if errors.Is(err, io.EOF) && !begun {
				err = fmt.Errorf("%s: %w", path, errNoRun)
			}
			if err != nil {
				filled <- batch{b.events[:n], b.lines, err}
				return
			}
			if read++; e.Line == 0 {
				b.lines = append(b.lines, line{r.Sum(), read})
			}
		}
		filled <- b
	}
}

var (
	errNoRun  = errors.New("the first line is not the description of a run: want a history that locklab wrote")
	errTwoRun = errors.New("a second description of a run: want the history of one run")
)

// validHead refuses a history that does not begin with its run, or has two of them, and a
// run that nothing can be judged by.
func validHead(e *history.Event, begun bool, workloads []Workload) error {
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
	least := 0.0 // closed loops offer nothing
	all := func(Workload) bool { return true }
	i := slices.IndexFunc(workloads, func(w Workload) bool { return w.Name == run.Workload })
	if i >= 0 && workloads[i].offered {
		least = 1e-6
	}
	switch {
	case run.Lock == "" || len(run.Lock) > longName:
		return fmt.Errorf("run.lock %q: want the name of a lock", brief(run.Lock))
	case len(run.Scenario) > longName:
		return fmt.Errorf("run.scenario %q: want the name of a scenario", brief(run.Scenario))
	case i < 0:
		return fmt.Errorf("run.workload %q: want %s", brief(run.Workload), namesOf(workloads, all))
	case run.DurationNS < int64(time.Millisecond):
		return fmt.Errorf("run.duration_ns %d: want at least %d, a millisecond", run.DurationNS, time.Millisecond)
	case !(run.OfferedPS >= least && run.OfferedPS <= mostPS):
		return fmt.Errorf("run.offered_per_s %v: want more than 0 (0 or more with the workload %s), up to %g",
			run.OfferedPS, namesOf(workloads, func(w Workload) bool { return !w.offered }), mostPS)
	case run.Expect != nil:
		return validExpect(*run.Expect)
	}
	return nil
}

// validExpect refuses words that no verdict could be judged by.
func validExpect(e history.Expect) error {
	if e.Safety != "" && e.Safety != Safe && e.Safety != Unsafe {
		return fmt.Errorf("run.expect.safety %q: want %s or %s", brief(e.Safety), Safe, Unsafe)
	}
	for _, l := range e.Liveness {
		if rank(l) < 0 {
			return fmt.Errorf("run.expect.liveness %q: want %s, %s or %s", brief(l), Live, Stalls, Down)
		}
	}
	for _, share := range []float64{e.Availability.Outside, e.Availability.During} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("run.expect.availability %v: want shares from 0 to 1", share)
		}
	}
	return nil
}

// addLines looks for lines that are there twice.
func (c *Checker) addLines(lines []line) {
	slices.SortFunc(lines, func(a, b line) int { return cmp.Or(cmp.Compare(a.sum, b.sum), cmp.Compare(a.event, b.event)) })
	n, first := int64(0), math.MaxInt
	for i := 1; i < len(lines); i++ {
		if lines[i].sum == lines[i-1].sum {
			n, first = n+1, min(first, lines[i-1].event)
		}
	}
	if n > 0 {
		c.flaws.add(twice, n, sentence.Of("the event number %d of the file", first))
	}
}
