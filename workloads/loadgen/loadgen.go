// Package loadgen decides when operations start, and proves that they did.
//
// In the open loop ([Open]) every operation has an intended time that follows
// from the schedule alone: never from when earlier operations were sent or
// answered. Latency counts from the intended time, so a system that stalls for a
// second shows a second (no coordinated omission; Gil Tene, "How NOT to Measure
// Latency"). In the closed loop ([Closed]) each client sends its next operation
// when the last one ended, which finds throughput ceilings and hides stalls.
//
//	schedule ──▶ one goroutine ──▶ idle worker, or a new one ──▶ do(ctx, op)
//	(pure)       clock.Precise                   lateness = sent - intended
//
// A late generator never skips and never slows down: it sends all that is due at
// once. What it cannot send (too many operations in flight, or the end came
// first) is counted as unsent. [MinSent] and [MaxLateness] say when that makes a run worthless.
package loadgen

import (
	"cmp"
	"context"
	"iter"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/seed"
	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// Limits beyond which the figures of a run mean nothing.
const (
	// MinSent is the share of the scheduled operations that must have been sent. With less, the report would name
	// another load than was offered: 1 % is the precision to which rates are read off a plot.
	MinSent = 0.99
	// MaxLateness is the lateness that 99 % of the operations must stay below: half of the 100 ms between two
	// requests of a canary, and a twentieth of the second without grants that is an outage. Then late operations do
	// not look like a stall.
	MaxLateness = 50 * time.Millisecond
)

// ErrorNotSent is the Error of a history event whose operations (Event.Count of
// them) were due but never sent, because the generator fell behind.
const ErrorNotSent = "not-sent"

// ErrorCalledOff is the Error of an operation that was under way when the time was over: neither served nor
// failed.
const ErrorCalledOff = "called-off"

// maxInFlight bounds the operations in flight: at 5,000 a second, four seconds without an answer.
const maxInFlight = 20_000

// Op is one operation of the schedule.
type Op struct {
	Index      uint64 // position in the schedule, from 0
	IntendedNS int64  // when it was due, on clock.Mono
	SentNS     int64  // when it really started
}

// Master is a master that clients put the load on.
type Master struct {
	Name string
	URL  string // http://host:port
	// Token is what orders to it must bear, if not empty; players need none.
	Token string
}

// Config is a load to generate.
type Config struct {
	Warmup   time.Duration
	Duration time.Duration // measured, after the warm-up
	// StartNS is when the schedule begins, on clock.Mono; 0 is now.
	StartNS int64
	// Stop, when closed, ends the schedule of an open loop early and leaves operations in flight alone; nil never
	// does.
	Stop <-chan struct{}
	// Phase is called when a phase begins, in order; nil is not called.
	Phase func(state string, atNS int64)
	// Unsent is called with operations that were due between the two times and
	// could not be sent; nil is not called.
	Unsent func(count uint64, fromNS, toNS int64)
}

// Open runs the schedule and calls do for every operation, in a goroutine of its own where they overlap. It
// returns when the last one has returned; do should bound its time itself. When ctx is done, scheduling stops, and
// operations in flight see it too. It fails at once if the system has no precise timer.
func Open(ctx context.Context, cfg Config, pacer Pacer, do func(context.Context, Op)) error {
	alarm, err := clock.NewPrecise()
	if err != nil {
		return err
	}
	defer alarm.Close()
	start := cmp.Or(cfg.StartNS, clock.Mono())
	end := start + int64(cfg.Warmup+cfg.Duration)
	g := &generator{cfg: cfg, alarm: alarm, start: start, end: end, do: do, work: make(chan Op)}
	going, stop := signals.Until(ctx, cfg.Stop)
	defer stop()
	g.schedule(ctx, going, pacer)
	close(g.work)
	cutBefore := ctx.Err() != nil // as the phases tell
	g.phase(history.PhaseDrain, g.end)
	g.workers.Wait()
	if cutBefore || ctx.Err() == nil { // else ctx cut the drain short: it has no end
		g.phase(history.PhaseEnd, clock.Mono())
	}
	return nil
}

type generator struct {
	cfg        Config
	alarm      *clock.Precise
	start, end int64
	do         func(context.Context, Op)
	work       chan Op
	workers    sync.WaitGroup
	inFlight   atomic.Int64
	lead       lead // from the alarm to the goroutine that sends

	// Only the scheduling goroutine touches these.
	unsent               uint64 // not yet reported
	unsentFrom, unsentTo int64
}

func (g *generator) phase(state string, atNS int64) {
	if g.cfg.Phase != nil {
		g.cfg.Phase(state, atNS)
	}
}

// schedule offers each operation when it is due, until the end or until going ends.
func (g *generator) schedule(sending, going context.Context, pacer Pacer) {
	phases := []struct {
		state string
		at    int64
	}{{history.PhaseWarmup, g.start}, {history.PhaseMeasure, g.start + int64(g.cfg.Warmup)}}
	index := uint64(0)
	for after := range pacer {
		due := g.start + int64(after)
		for len(phases) > 0 && phases[0].at <= due && g.until(going, phases[0].at) {
			g.phase(phases[0].state, phases[0].at)
			phases = phases[1:]
		}
		g.until(going, min(due-g.lead.learned.Load(), g.end))
		now := clock.Mono()
		if going.Err() != nil {
			g.end = min(g.end, now)
		}
		if due >= g.end {
			g.until(going, g.end) // the last phase lasts to its end
			break
		}
		g.offer(sending, Op{Index: index, IntendedNS: due}, now)
		index++
	}
	g.tellUnsent()
}

// until waits for a moment of clock.Mono, and says whether it came before the end of ctx.
func (g *generator) until(ctx context.Context, deadline int64) (came bool) {
	woken, cancel := g.alarm.After(deadline)
	defer cancel()
	select {
	case <-woken:
	case <-ctx.Done():
	}
	return clock.Mono() >= deadline
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
		op.SentNS = g.lead.await(op.IntendedNS)
		g.do(ctx, op)
		g.inFlight.Add(-1)
	}
}

// skip counts an operation that cannot be sent, and reports groups: single events would fill the history when time
// is short.
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

// Closed runs clients that call do one operation after the other until the duration is over. An operation is due
// when it is sent: nothing can be late. It returns when the last operation has returned.
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

// lead is how early the alarm must go off for an operation to begin on time. To wake a goroutine always takes some
// tens of microseconds. The lead learns how long, and aims to be early every second time: an early goroutine spins
// until its time. Lateness and spinning are then as short as wake-ups are regular. Concurrent updates only blur
// it.
type lead struct{ learned atomic.Int64 } // nanoseconds

const (
	leadStep = 200     // ns
	leadMax  = 100_000 // ns; a machine that takes longer is not steady enough to predict
)

// await learns from the time of the call, spins until the deadline, and returns the time then.
func (l *lead) await(deadline int64) int64 {
	now := clock.Mono()
	if now < deadline {
		l.learned.Store(max(l.learned.Load()-leadStep, 0))
	} else {
		l.learned.Store(min(l.learned.Load()+leadStep, leadMax))
	}
	for now < deadline {
		now = clock.Mono()
	}
	return now
}

// MaxRate is the highest rate that a schedule may ask for, in operations per
// second. It is far above what one generator thread can send.
const MaxRate = 1_000_000

// Pacer is a schedule: the endless, never decreasing sequence of the times, after
// the start, at which operations are due. It is pure: ranging over it again gives
// the same times, whatever happened to the operations.
type Pacer = iter.Seq[time.Duration]

// Poisson schedules rate operations per second on average, with exponentially distributed distances: independent
// arrivals.
func Poisson(rate float64, from seed.Seed) Pacer {
	return func(yield func(time.Duration) bool) {
		random := from.Rand()
		at := random.ExpFloat64()
		for yield(time.Duration(at * float64(time.Second) / rate)) {
			at += random.ExpFloat64()
		}
	}
}

// Ramp lets the rate of p rise evenly from nothing to its full value within the given time. Otherwise cold systems
// (no rooms, no connections) meet full load before they are warm, and the queue that builds up may never drain.
func Ramp(p Pacer, within time.Duration) Pacer {
	if within <= 0 {
		return p
	}
	half := float64(within) / 2 // these times of p are stretched over the ramp
	return func(yield func(time.Duration) bool) {
		for at := range p {
			warped := at + within/2
			if float64(at) < half {
				warped = time.Duration(math.Sqrt(4 * half * float64(at)))
			}
			if !yield(warped) {
				return
			}
		}
	}
}

// Parties makes size operations due at each time of p, at the same instant. The
// rate is that of p times size.
func Parties(p Pacer, size int) Pacer {
	return func(yield func(time.Duration) bool) {
		for at := range p {
			for range size {
				if !yield(at) {
					return
				}
			}
		}
	}
}

// Dial changes the rate of a schedule while it is played. The zero value leaves the rate as it is.
type Dial struct{ factor atomic.Pointer[float64] }

// Turn sets the rate from now on to that of the schedule times factor. The operation that the generator already
// waits for keeps its time.
func (d *Dial) Turn(factor float64) { d.factor.Store(&factor) }

// Pace is the schedule p under the dial.
func (d *Dial) Pace(p Pacer) Pacer {
	return func(yield func(time.Duration) bool) {
		var due, before time.Duration // under the dial, and without it
		for at := range p {
			between := at - before
			if factor := d.factor.Load(); factor != nil {
				between = time.Duration(float64(between) / *factor)
			}
			due, before = due+between, at
			if !yield(due) {
				return
			}
		}
	}
}
