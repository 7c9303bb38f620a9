package toxic

import (
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"locklab/internal/signals"
	"locklab/locks/clock"
)

// maxKept bounds the bytes that one toxic keeps for one direction of one
// connection. Beyond it the toxic stops reading, so that the sender is slowed
// down. Links limit their senders earlier, see the link package.
const maxKept = 4 << 20

// line is a delay line: every chunk leaves at its due time, in order, and any
// number of chunks are under way at once. It is the state of one stub; it
// survives interruptions of the toxic.
type line struct {
	due    func(arrived int64, size int) int64 // clock.Mono in and out; called in order
	origin origin

	mu    sync.Mutex
	queue []parcel
	bytes int
	last  int64 // due time of the youngest parcel: nothing overtakes it
	ended bool  // no more input will come
	more  chan struct{}
	room  chan struct{}
}

type parcel struct {
	chunk *stream.StreamChunk
	due   int64
}

func newLine(due func(arrived int64, size int) int64) *line {
	return &line{due: due, origin: newOrigin(), more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// lined is what all toxics have in common whose state is a line.
type lined struct{}

var (
	_ toxics.CleanupToxic = lined{}
	_ toxics.Toxic        = lined{}
)

// Pipe delays until it is interrupted or the input ended.
func (lined) Pipe(stub *toxics.ToxicStub) { stub.State.(*line).pipe(stub) }

// Cleanup delivers at once what waits.
func (lined) Cleanup(stub *toxics.ToxicStub) { stub.State.(*line).flush(stub.Output) }

// pipe runs until the stub is interrupted, or its input ended and all is sent.
func (l *line) pipe(stub *toxics.ToxicStub) {
	stop, sent := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sent)
		l.send(stub.Output, stop)
	}()
	input := stub.Input
	for {
		select {
		case <-stub.Interrupt:
			close(stop)
			<-sent
			return
		case <-l.room:
			input = stub.Input
		case chunk := <-input:
			if chunk == nil {
				l.end()
				select {
				case <-sent:
					stub.Close()
				case <-stub.Interrupt:
					close(stop)
					<-sent
				}
				return
			}
			if full := l.push(chunk); full {
				input = nil
			}
		}
	}
}

func (l *line) push(chunk *stream.StreamChunk) (full bool) {
	arrived := l.origin.of(chunk)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = max(l.last, l.due(arrived, len(chunk.Data)))
	// The next toxic counts from the moment at which the chunk should leave this
	// one, so that lateness does not add up.
	chunk.Timestamp = chunk.Timestamp.Add(time.Duration(l.last - arrived))
	l.queue = append(l.queue, parcel{chunk, l.last})
	l.bytes += len(chunk.Data)
	signals.Wake(l.more)
	return l.bytes > maxKept
}

func (l *line) end() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	signals.Wake(l.more)
}

// send passes on what is due until stop is closed or nothing more will come.
func (l *line) send(output chan<- *stream.StreamChunk, stop <-chan struct{}) {
	for {
		head, ok, ended := l.head()
		switch {
		case ok:
			if !SleepTowards(head.due, stop) {
				return
			}
			select {
			case output <- head.chunk:
				l.pop()
			case <-stop:
				return
			}
		case ended:
			return
		default:
			select {
			case <-l.more:
			case <-stop:
				return
			}
		}
	}
}

func (l *line) head() (p parcel, ok, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return parcel{}, false, l.ended
	}
	return l.queue[0], true, false
}

func (l *line) pop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= len(l.queue[0].chunk.Data)
	l.queue[0] = parcel{}
	l.queue = l.queue[1:]
	if l.bytes <= maxKept/2 {
		signals.Wake(l.room)
	}
}

// flush passes everything on at once. No pipe may be running.
func (l *line) flush(output chan<- *stream.StreamChunk) {
	for {
		head, ok, _ := l.head()
		if !ok {
			return
		}
		head.chunk.Timestamp = clock.System().Now()
		output <- head.chunk
		l.pop()
	}
}

// origin ties the time stamps of chunks to clock.Mono.
type origin struct {
	at   time.Time
	mono int64
}

// newOrigin reads both clocks as closely together as it gets.
func newOrigin() (best origin) {
	gap := int64(-1)
	for range 5 {
		before := clock.Mono()
		now := clock.System().Now()
		after := clock.Mono()
		if gap < 0 || after-before < gap {
			gap, best = after-before, origin{now, before + (after-before)/2}
		}
	}
	return best
}

// of is when the chunk arrived, on clock.Mono.
func (o origin) of(chunk *stream.StreamChunk) int64 {
	return o.mono + int64(chunk.Timestamp.Sub(o.at))
}
