package toxic

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"locklab/internal/seed"
	"locklab/locks/clock"
)

// line is a delay line: every chunk, and the end of the stream, leaves at its due time, in
// order, and any number of chunks are under way at once. It is the state of one stub, and
// outlives interruptions of the toxic. It has no bound: links do not read without one.
type line struct {
	timer *Timer
	draw  *rand.Rand
	queue []parcel
	free  int64 // when the wire of a limited bandwidth has sent all before
	last  int64 // due time of the youngest: nothing overtakes it
	ended bool  // the end is in the queue
}

type parcel struct {
	chunk *stream.StreamChunk // nil: the end
	due   int64               // on clock.Mono
}

// State is what a toxic keeps for one direction of one connection. It draws random numbers from
// the seed; timer tells it the time.
func State(t toxics.Toxic, own seed.Seed, timer *Timer) any {
	switch t := t.(type) {
	case interface{ isLine() }:
		return &line{timer: timer, draw: own.Rand()}
	case toxics.StatefulToxic:
		return t.NewState()
	default:
		return nil
	}
}

// delays is embedded in all toxics whose state is a line.
type delays struct{}

func (delays) isLine() {}

// Cleanup delivers all waiting chunks at once.
func (delays) Cleanup(stub *toxics.ToxicStub) {
	l := lineOf(stub)
	for _, p := range l.queue {
		if p.chunk == nil {
			stub.Close()
		} else {
			stub.Output <- p.chunk
		}
	}
	l.queue = nil
}

func lineOf(stub *toxics.ToxicStub) *line { return stub.State.(*line) }

// run delays chunks until it is interrupted, or has passed on the end. due is the time at which
// a chunk leaves; run calls it in order.
func (l *line) run(stub *toxics.ToxicStub, due func(arrived int64, size int) int64) {
	var woken <-chan struct{}
	cancel := func() {}
	defer func() { cancel() }()
	for {
		var head parcel
		input, output := stub.Input, (chan<- *stream.StreamChunk)(nil)
		if l.ended {
			input = nil
		}
		if len(l.queue) > 0 && woken == nil {
			if head = l.queue[0]; !l.timer.isDue(head.due) {
				woken, cancel = l.timer.after(head.due)
			} else if head.chunk == nil {
				stub.Close()
				return
			} else {
				output = stub.Output
			}
		}
		select {
		case <-stub.Interrupt:
			return
		case <-woken:
			l.timer.learn(l.queue[0].due)
			woken = nil
		case output <- head.chunk:
			l.queue = l.queue[1:]
		case chunk := <-input:
			size := 0
			if l.ended = chunk == nil; !l.ended {
				size = len(chunk.Data)
			}
			l.last = max(l.last, due(clock.Mono(), size))
			l.queue = append(l.queue, parcel{chunk, l.last})
		}
	}
}

const (
	// maxEarly bounds how much too early something may be delivered.
	maxEarly = 60 * time.Microsecond
	// earlyStep is how much is learned from one wake-up.
	earlyStep = 500 * time.Nanosecond
)

// Timer wakes toxics such that half of the wake-ups are before their time and half after it. A
// goroutine wakes some tens of microseconds late, which would add to every delay; that is
// learned, as a running median, and waited less.
type Timer struct {
	precise *clock.Precise
	early   atomic.Int64 // nanoseconds
}

// NewTimer starts a timer. Close ends it, after the last connection with toxics.
func NewTimer() (*Timer, error) {
	p, err := clock.NewPrecise()
	return &Timer{precise: p}, err
}

// Close wakes all.
func (t *Timer) Close() { t.precise.Close() }

// Sleep is false if stop was closed first.
func (t *Timer) Sleep(d time.Duration, stop <-chan struct{}) bool {
	woken, cancel := t.precise.After(clock.Mono() + int64(d))
	defer cancel()
	select {
	case <-woken:
		return true
	case <-stop:
		return false
	}
}

func (t *Timer) isDue(due int64) bool { return clock.Mono() >= due-t.early.Load() }

func (t *Timer) after(due int64) (<-chan struct{}, func()) {
	return t.precise.After(due - t.early.Load())
}

func (t *Timer) learn(due int64) {
	learned := t.early.Load() - int64(earlyStep)
	if clock.Mono() > due {
		learned += 2 * int64(earlyStep)
	}
	t.early.Store(min(max(learned, 0), int64(maxEarly))) // a lost update is no loss
}
