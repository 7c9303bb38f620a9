package check

import (
	"context"
	"errors"
	"io"

	"locklab/workloads/history"
)

// batchSize is how many events travel from the reader to the checker at once.
const batchSize = 1024

// batch is a number of events, and how the reading of them ended.
type batch struct {
	events []history.Event
	err    error // io.EOF after the last one
}

// File judges a history file, gzipped or not, without loading it as a whole. One
// goroutine decodes while another one checks. It ends with the context's error when
// that is done.
func File(ctx context.Context, path string, opts Options) (f *Findings, err error) {
	r, err := history.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()

	filled, empty := make(chan batch, 2), make(chan []history.Event, 3)
	for range cap(empty) {
		empty <- make([]history.Event, batchSize)
	}
	go decode(r, filled, empty)
	c := New(opts)
	for b := range filled {
		for i := range b.events {
			c.Add(&b.events[i])
		}
		if b.err != nil && !errors.Is(b.err, io.EOF) {
			return nil, b.err // the reader has ended, too
		}
		empty <- b.events[:batchSize]
	}
	if r.Torn() {
		c.Torn()
	}
	return c.Findings(), nil
}

// decode reads until the end or an error, which comes with the last batch.
func decode(r *history.Reader, filled chan<- batch, empty <-chan []history.Event) {
	defer close(filled)
	for events := range empty {
		n := 0
		for ; n < len(events); n++ {
			if err := r.Next(&events[n]); err != nil {
				filled <- batch{events[:n], err}
				return
			}
		}
		filled <- batch{events, nil}
	}
}
