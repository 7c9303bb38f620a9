// Package loadgen decides when operations start, and proves that they did.
//
// In the open loop ([Open]) every operation has an intended time that follows
// from the schedule alone: never from when earlier operations were sent or
// answered. Latency counts from the intended time, so a system that stalls for a
// second shows a second (no coordinated omission; Gil Tene, "How NOT to Measure
// Latency"). In the closed loop ([Closed]) each client sends its next operation
// when the last one ended, which finds throughput ceilings and hides stalls.
//
//	schedule ──▶ one pinned thread ──▶ idle worker, or a new one ──▶ do(ctx, op)
//	(pure)       nanosleep, 1 ns slack                lateness = sent - intended
//
// A late generator never skips and never slows down: it sends all that is due at
// once. What it cannot send (too many operations in flight, or the end came
// first) is counted as unsent. [MinSent] and [MaxLateness] say when that makes a run worthless.
package loadgen

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"locklab/locks/clock"
)

// What a run may lack before its figures stop meaning what they say.
const (
	// MinSent is the share of the scheduled operations that must have been sent.
	// With less, the load was not the one that the report names: 1 % is the
	// precision to which rates are read off a plot.
	MinSent = 0.99
	// MaxLateness is the lateness that 99 % of the operations must stay below: half of
	// the 100 ms slots in which availability is shown, and a fifth of the 250 ms without grants
	// that are a stall in a run of two seconds. So a fault and its effect stay side by side, and
	// late operations do not look like a stall.
	MaxLateness = 50 * time.Millisecond
)

// ErrorNotSent is the Error of a history event whose operations (Event.Count of
// them) were due but never sent, because the generator fell behind.
const ErrorNotSent = "not-sent"

// ErrorCalledOff is the Error of an operation that was under way when the time was over. Its
// caller did not wait for the answer: it is neither served nor failed.
const ErrorCalledOff = "called-off"

// maxInFlight bounds the operations in flight: at 5,000 a second, four seconds without an answer.
const maxInFlight = 20_000

// The phases of a run, as they are written to the history.
const (
	PhaseWarmup  = "warmup"  // load runs, nothing is measured yet
	PhaseMeasure = "measure" // operations due from here on count
	PhaseDrain   = "drain"   // nothing more is due; answers are awaited
	PhaseEnd     = "end"     // everything was answered or given up
)

// Op is one operation of the schedule.
type Op struct {
	Index      uint64 // position in the schedule, from 0
	IntendedNS int64  // when it was due, on clock.Mono
	SentNS     int64  // when it really started
}

// Config is a load to generate.
type Config struct {
	Warmup   time.Duration
	Duration time.Duration // measured, after the warm-up
	// StartNS is when the schedule begins, on clock.Mono; 0 is now.
	StartNS int64
	// Stop ends the schedule of an open loop before its time when it is closed, and leaves the
	// operations in flight alone; nil never does.
	Stop <-chan struct{}
	// Phase is called when a phase begins, in order, by one goroutine at a time; nil is not called.
	Phase func(state string, atNS int64)
	// Unsent is called with operations that were due between the two times and
	// could not be sent; nil is not called.
	Unsent func(count uint64, fromNS, toNS int64)
}

// Open runs the schedule and calls do for every operation, each in a goroutine of
// its own as far as they overlap. It returns when the last one has returned; do
// should bound its time itself. When ctx is done, scheduling stops, and the
// operations in flight see it too.
func Open(ctx context.Context, cfg Config, pacer Pacer, do func(context.Context, Op)) {
	start := cmp.Or(cfg.StartNS, clock.Mono())
	measure := start + int64(cfg.Warmup)
	g := &generator{cfg: cfg, start: start, end: measure + int64(cfg.Duration), do: do, work: make(chan Op)}
	phase := func(state string, atNS int64) {
		if cfg.Phase != nil {
			cfg.Phase(state, atNS)
		}
	}
	going, stop := context.WithCancel(ctx)
	defer stop()
	var watching sync.WaitGroup
	watching.Go(func() {
		// A phase that was forestalled never came.
		if sleepUntil(going, start) || clock.Mono() >= start {
			phase(PhaseWarmup, start)
		}
		if sleepUntil(going, measure) || clock.Mono() >= measure {
			phase(PhaseMeasure, measure)
		}
	})
	watching.Go(func() {
		select {
		case <-cfg.Stop:
			stop()
		case <-going.Done():
		}
	})
	g.schedule(ctx, going, pacer)
	stop()
	watching.Wait()
	close(g.work)
	cutBefore := ctx.Err() != nil // that, the phases say
	phase(PhaseDrain, g.end)
	g.workers.Wait()
	if cutBefore || ctx.Err() == nil { // else the drain cut answers off, and has no end
		phase(PhaseEnd, clock.Mono())
	}
}

type generator struct {
	cfg        Config
	start, end int64
	do         func(context.Context, Op)
	work       chan Op
	workers    sync.WaitGroup
	inFlight   atomic.Int64
	handOver   lead // from the schedule's thread to the goroutine that sends

	// Only the scheduling goroutine touches these.
	unsent               uint64 // not yet told
	unsentFrom, unsentTo int64
}

// schedule offers each operation when it is due, until the end, which comes early when going ends.
func (g *generator) schedule(sending, going context.Context, pacer Pacer) {
	defer clock.Pin()()
	var sleep sleeper
	index := uint64(0)
	for after := range pacer {
		due := g.start + int64(after)
		sleep.until(going, min(due-g.handOver.ns(), g.end))
		now := clock.Mono()
		if going.Err() != nil {
			g.end = min(g.end, now)
		}
		if due >= g.end {
			sleep.until(going, g.end) // the time to hand over, at the most: nothing ends before its end
			break
		}
		g.offer(sending, Op{Index: index, IntendedNS: due}, now)
		index++
	}
	g.tellUnsent()
}

// grace is how long after the end of the schedule a late generator still sends.
const grace = 100 * time.Millisecond

func (g *generator) offer(ctx context.Context, op Op, now int64) {
	if g.inFlight.Load() >= maxInFlight || now > g.end+int64(grace) {
		g.skip(op)
		return
	}
	g.inFlight.Add(1)
	select {
	case g.work <- op:
	default:
		g.workers.Go(func() { g.worker(ctx, op) })
	}
}

func (g *generator) worker(ctx context.Context, op Op) {
	for ok := true; ok; op, ok = <-g.work {
		op.SentNS = g.handOver.await(op.IntendedNS)
		g.do(ctx, op)
		g.inFlight.Add(-1)
	}
}

// skip counts an operation that cannot be sent, and tells about them in groups:
// one by one they would drown the history exactly when time is short.
func (g *generator) skip(op Op) {
	if op.IntendedNS-g.unsentFrom > int64(100*time.Millisecond) {
		g.tellUnsent()
	}
	if g.unsent == 0 {
		g.unsentFrom = op.IntendedNS
	}
	g.unsent++
	g.unsentTo = op.IntendedNS
}

func (g *generator) tellUnsent() {
	if g.unsent > 0 && g.cfg.Unsent != nil {
		g.cfg.Unsent(g.unsent, g.unsentFrom, g.unsentTo)
	}
	g.unsent = 0
}

// Closed runs clients that call do one operation after the other until the
// duration is over. An operation is due when it is sent: nothing can be late. It returns when the
// last operation has returned.
func Closed(ctx context.Context, d time.Duration, clients int, do func(ctx context.Context, client int, op Op)) {
	end := clock.Mono() + int64(d)
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			for now := clock.Mono(); ctx.Err() == nil && now < end; now = clock.Mono() {
				do(ctx, client, Op{IntendedNS: now, SentNS: now})
			}
		})
	}
	running.Wait()
}

// sleepUntil waits for a moment of clock.Mono; false if ctx was done first.
func sleepUntil(ctx context.Context, deadline int64) bool {
	return clock.Sleep(ctx, time.Duration(deadline-clock.Mono())) == nil
}

// sleeper sleeps until moments of clock.Mono on a pinned thread.
type sleeper struct{ wake lead }

// piece is the longest sleep of the thread, which nothing can interrupt. Until then a
// timer waits, which costs less and may be late by less than that.
const piece = 50 * time.Millisecond

// until returns at the deadline or just after it, and earlier only when ctx is done.
func (s *sleeper) until(ctx context.Context, deadline int64) {
	if far := deadline - int64(piece); clock.Mono() < far && !sleepUntil(ctx, far) {
		return
	}
	if ahead := deadline - s.wake.ns(); clock.Mono() < ahead {
		clock.SleepPinned(ahead)
		s.wake.await(deadline)
		return
	}
	for clock.Mono() < deadline { // what is left is shorter than a sleep
	}
}

// lead is how much earlier something must begin to be done in time. To wake a
// thread, or a goroutine on another one, takes the machine some tens of
// microseconds, always; the lead learns how long, and an early caller spins over
// what is left. It steers to be early every second time: then the lateness is how
// far a wake-up strays from the usual one, and the spinning is no longer than that.
// Races between threads that learn at once only blur it.
type lead struct{ learned atomic.Int64 }

const (
	leadStep = 200     // ns
	leadMax  = 100_000 // ns; a machine that takes longer is not steady enough to predict
)

func (l *lead) ns() int64 { return l.learned.Load() }

// await learns from when the caller came, and returns at the deadline or just
// after it, never before, with the time.
func (l *lead) await(deadline int64) int64 {
	now := clock.Mono()
	if now < deadline {
		l.learned.Store(max(l.ns()-leadStep, 0))
	} else {
		l.learned.Store(min(l.ns()+leadStep, leadMax))
	}
	for now < deadline {
		now = clock.Mono()
	}
	return now
}
