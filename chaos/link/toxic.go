package link

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"

	"locklab/internal/seed"
	"locklab/locks/clock"
)

// Effect is what an impairment does to the bytes of every connection, in one direction: a toxic
// of ours, or of toxiproxy's own. Its JSON is its settings.
type Effect = toxics.Toxic

// prefix marks the types of our own toxics.
const prefix = "locklab-"

// types are all toxics that a link can have.
func types() map[string]Effect {
	return map[string]Effect{
		prefix + "latency": new(Latency), prefix + "bandwidth": new(Bandwidth), prefix + "flaky": new(Flaky),
		prefix + "hold": new(Hold), prefix + "drop": new(Drop), prefix + "reset": new(Reset),
		"noop": new(toxics.NoopToxic), "latency": new(toxics.LatencyToxic), "bandwidth": new(toxics.BandwidthToxic),
		"slow_close": new(toxics.SlowCloseToxic), "timeout": new(toxics.TimeoutToxic), "slicer": new(toxics.SlicerToxic),
		"reset_peer": new(toxics.ResetToxic), "limit_data": new(toxics.LimitDataToxic),
	}
}

// register makes our toxics known to toxiproxy's API, and silences toxiproxy's log.
func register() {
	zerolog.SetGlobalLevel(zerolog.Disabled)
	for name, e := range types() {
		if strings.HasPrefix(name, prefix) {
			toxics.Register(name, e)
		}
	}
}

// newEffect is an effect of that type without settings.
func newEffect(name string) (Effect, error) {
	if e := types()[name]; e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("type %q: want one of %s", name, strings.Join(slices.Sorted(maps.Keys(types())), ", "))
}

// typeOf is what toxiproxy calls an effect.
func typeOf(e Effect) string {
	for name, known := range types() {
		if reflect.TypeOf(e) == reflect.TypeOf(known) {
			return name
		}
	}
	return ""
}

// foreign says whether a toxic is toxiproxy's own.
func foreign(e Effect) bool { return !strings.HasPrefix(typeOf(e), prefix) }

// kindOf is the type of an effect, without our prefix.
func kindOf(e Effect) string { return strings.TrimPrefix(typeOf(e), prefix) }

const (
	// longest bounds the delays of our toxics.
	longest = time.Minute
	// largest bounds attributes of toxiproxy's toxics, which it multiplies unchecked.
	largest = 1 << 40
)

// checkEffect says what is wrong with the settings. toxiproxy does not check them: with those refused here it
// panics, loops for ever or overflows.
func checkEffect(e Effect) error {
	switch e := e.(type) {
	case *Latency:
		return cmp.Or(within("delay_ns", int64(e.Delay), 0, int64(longest)),
			within("jitter_ns", int64(e.Jitter), 0, int64(longest)),
			within("delay_ns + jitter_ns", int64(e.Delay+e.Jitter), 1, largest))
	case *Bandwidth:
		return within("bytes_per_s", e.BytesPerS, 1, math.MaxInt64)
	case *Flaky:
		if !(e.Loss > 0 && e.Loss <= 1) {
			return fmt.Errorf("loss is %v: want a share above 0, up to 1", e.Loss)
		}
		return within("stall_ns", int64(e.Stall), 1, int64(longest))
	case *toxics.LatencyToxic:
		return cmp.Or(bounded("latency", e.Latency), bounded("jitter", e.Jitter))
	case *toxics.BandwidthToxic:
		return within("rate", e.Rate, 0, largest)
	case *toxics.SlowCloseToxic:
		return bounded("delay", e.Delay)
	case *toxics.TimeoutToxic:
		return bounded("timeout", e.Timeout)
	case *toxics.ResetToxic:
		return bounded("timeout", e.Timeout)
	case *toxics.SlicerToxic:
		size := int64(e.AverageSize)
		return cmp.Or(within("average_size", size, 1, largest),
			within("size_variation", int64(e.SizeVariation), 1-size, size-1), bounded("delay", int64(e.Delay)))
	case *toxics.LimitDataToxic:
		return bounded("bytes", e.Bytes)
	}
	return nil // it has none
}

func bounded(attribute string, value int64) error { return within(attribute, value, -largest, largest) }

func within(attribute string, value, low, high int64) error {
	if value < low || value > high {
		return fmt.Errorf("%s is %d: want %d to %d", attribute, value, low, high)
	}
	return nil
}

// Cuts says whether the effect lets nothing pass.
func Cuts(e Effect) bool {
	switch e.(type) {
	case *Hold, *Drop, *Reset:
		return true
	}
	return false
}

// Least is the least time that one of our effects adds to these bytes, if they pass; 0 for toxiproxy's.
func Least(e Effect, bytes int64) time.Duration {
	switch e := e.(type) {
	case *Latency:
		return e.Delay
	case *Bandwidth:
		return e.takes(bytes)
	}
	return 0
}

// Latency delays every chunk by Delay plus an evenly drawn part of Jitter. Chunks keep their order, as in a TCP
// stream: one with a short delay waits for those before it.
type Latency struct {
	delays
	Delay  time.Duration `json:"delay_ns,format:nano"`
	Jitter time.Duration `json:"jitter_ns,format:nano"`
}

// Pipe delays.
func (t *Latency) Pipe(stub *toxics.ToxicStub) {
	l := lineOf(stub)
	l.run(stub, func(arrived int64, _ int) int64 {
		if t.Jitter > 0 {
			arrived += l.draw.Int64N(int64(t.Jitter))
		}
		return arrived + int64(t.Delay)
	})
}

// Flaky is packet loss as seen above TCP: a share of the chunks arrives Stall later, and everything behind each
// waits.
type Flaky struct {
	delays
	Loss  float64       `json:"loss"`                 // 0 to 1: the share of chunks that come late
	Stall time.Duration `json:"stall_ns,format:nano"` // the retransmission timeout
}

// Pipe delays some.
func (t *Flaky) Pipe(stub *toxics.ToxicStub) {
	l := lineOf(stub)
	l.run(stub, func(arrived int64, _ int) int64 {
		if l.draw.Float64() < t.Loss {
			return arrived + int64(t.Stall)
		}
		return arrived
	})
}

// Bandwidth lets BytesPerS bytes pass in a second; the rest queues up.
type Bandwidth struct {
	delays
	BytesPerS int64 `json:"bytes_per_s"`
}

// takes is how long bytes take at the rate.
func (t *Bandwidth) takes(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / float64(t.BytesPerS) * float64(time.Second))
}

// Pipe passes on at the rate.
func (t *Bandwidth) Pipe(stub *toxics.ToxicStub) {
	l := lineOf(stub)
	l.run(stub, func(arrived int64, size int) int64 {
		l.free = max(l.free, arrived) + int64(t.takes(int64(size)))
		return l.free
	})
}

// Hold keeps everything that is sent and delivers it, in order, when the toxic is removed, as after a partition
// that a TCP connection outlives.
type Hold struct{ delays }

// Pipe keeps all bytes until it is interrupted.
func (*Hold) Pipe(stub *toxics.ToxicStub) {
	lineOf(stub).run(stub, func(int64, int) int64 { return math.MaxInt64 })
}

// Drop swallows everything that is sent while the connection stays open. Removing it must end connections that
// lost bytes.
type Drop struct{}

// Pipe swallows until it is interrupted. The end does not come through either.
func (*Drop) Pipe(stub *toxics.ToxicStub) {
	for {
		select {
		case <-stub.Interrupt:
			return
		case chunk := <-stub.Input:
			if chunk == nil {
				<-stub.Interrupt
				return
			}
		}
	}
}

// Reset ends every connection, and those to come, with a RST. The link does it: a toxic
// cannot reach the other end.
type Reset struct{ toxics.NoopToxic }

// resetPeer is toxiproxy's reset_peer, but can be interrupted while it waits: then it resets at once, because it
// has swallowed bytes.
type resetPeer struct{ toxics.ResetToxic }

// wasReset is the state of a stub whose toxic has reset the connection.
type wasReset struct{}

// Pipe waits for the first bytes, or the end, and ends the stream after the timeout.
func (t *resetPeer) Pipe(stub *toxics.ToxicStub) {
	select {
	case <-stub.Interrupt:
		return
	case <-stub.Input:
	}
	clock.Await(clock.System(), time.Duration(t.Timeout)*time.Millisecond, stub.Interrupt)
	stub.State = wasReset{}
	stub.Close()
}

// runs returns the toxic that a link runs for an effect.
func runs(e Effect) toxics.Toxic {
	if t, resets := e.(*toxics.ResetToxic); resets {
		return &resetPeer{*t}
	}
	return e
}

// line is a delay line: every chunk, and the end of the stream, leaves at its due time, in order. Any number of
// chunks are under way; the link bounds their bytes. It is the state of one stub, and outlives interruptions of
// the toxic.
type line struct {
	timer *timer
	draw  *rand.Rand
	queue []parcel
	free  int64 // when the wire of a limited bandwidth is free
	last  int64 // due time of the newest: nothing overtakes it
	ended bool  // the end is in the queue
}

type parcel struct {
	chunk *stream.StreamChunk // nil: the end
	due   int64               // on clock.Mono
}

// stateOf returns a toxic's state for one direction of one connection.
func stateOf(t toxics.Toxic, own seed.Seed, wakes *timer) any {
	switch t := t.(type) {
	case interface{ isLine() }:
		return &line{timer: wakes, draw: own.Rand()}
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

// run delays chunks until it is interrupted, or has passed on the end. due returns when a chunk leaves, called in
// order.
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
	// maxEarly bounds how early a chunk may be delivered.
	maxEarly = 60 * time.Microsecond
	// earlyStep is how much one wake-up changes early.
	earlyStep = 500 * time.Nanosecond
)

// timer wakes toxics such that half of the wake-ups are early and half late. Goroutines wake some tens of
// microseconds late, which would add to every delay: the timer learns the median lateness, and waits that much
// less.
type timer struct {
	precise *clock.Precise
	early   atomic.Int64 // nanoseconds
}

// newTimer starts a timer. close ends it, after the last connection with toxics.
func newTimer() (*timer, error) {
	p, err := clock.NewPrecise()
	return &timer{precise: p}, err
}

// close wakes all.
func (t *timer) close() { t.precise.Close() }

// sleep is false if stop was closed first.
func (t *timer) sleep(d time.Duration, stop <-chan struct{}) bool {
	woken, cancel := t.precise.After(clock.Mono() + int64(d))
	defer cancel()
	select {
	case <-woken:
		return true
	case <-stop:
		return false
	}
}

func (t *timer) isDue(due int64) bool { return clock.Mono() >= due-t.early.Load() }

func (t *timer) after(due int64) (<-chan struct{}, func()) {
	return t.precise.After(due - t.early.Load())
}

func (t *timer) learn(due int64) {
	learned := t.early.Load() - int64(earlyStep)
	if clock.Mono() > due {
		learned += 2 * int64(earlyStep)
	}
	t.early.Store(min(max(learned, 0), int64(maxEarly))) // a lost update does not matter
}
