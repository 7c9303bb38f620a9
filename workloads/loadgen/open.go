package loadgen

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"locklab/locks/clock"
)

// DefaultMaxInFlight bounds the operations in flight: at 5,000 a second, four
// seconds in which nothing is answered.
const DefaultMaxInFlight = 20_000

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
	Measured   bool   // due after the warm-up
}

// Config is a load to generate.
type Config struct {
	Pacer    Pacer
	Warmup   time.Duration
	Duration time.Duration // measured, after the warm-up
	// StartNS is when the schedule begins, on clock.Mono; 0 is now.
	StartNS int64
	// MaxInFlight bounds the operations that run at once; 0 is DefaultMaxInFlight.
	MaxInFlight int
	// Stop ends the schedule before its time when it is closed, and leaves the operations in
	// flight alone; nil never does.
	Stop <-chan struct{}
	// Phase is called when a phase begins, in order; nil for nobody.
	Phase func(state string, atNS int64)
	// Unsent is called with operations that were due between the two times and
	// could not be sent; nil for nobody.
	Unsent func(count uint64, fromNS, toNS int64)
}

func (c *Config) validate() error {
	var errs []error
	if c.Warmup < 0 || c.Duration <= 0 {
		errs = append(errs, fmt.Errorf("loadgen: warm-up %v and duration %v: want at least 0 and more than 0", c.Warmup, c.Duration))
	}
	if c.MaxInFlight < 0 {
		errs = append(errs, fmt.Errorf("loadgen: %d operations in flight: want more than 0", c.MaxInFlight))
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = DefaultMaxInFlight
	}
	if c.Phase == nil {
		c.Phase = func(string, int64) {}
	}
	if c.Unsent == nil {
		c.Unsent = func(uint64, int64, int64) {}
	}
	return errors.Join(errs...)
}

// drain waits for the operations in flight, and says that this is the end: not if ctx ended
// meanwhile, and what could have been answered was cut off.
func (c *Config) drain(ctx context.Context, fromNS int64, inFlight *sync.WaitGroup) {
	cutBefore := ctx.Err() != nil // that, the phases say
	c.Phase(PhaseDrain, fromNS)
	inFlight.Wait()
	if cutBefore || ctx.Err() == nil {
		c.Phase(PhaseEnd, clock.Mono())
	}
}

// Open runs the schedule and calls do for every operation, each in a goroutine of
// its own as far as they overlap. It returns when the last one has returned; do
// should bound its time itself. When ctx is done, scheduling stops, and the
// operations in flight see it too.
func Open(ctx context.Context, cfg Config, do func(context.Context, Op)) error {
	if err := cfg.validate(); err != nil {
		return err
	}
	if cfg.Pacer == nil {
		return errors.New("loadgen: no schedule")
	}
	g := &generator{cfg: cfg, do: do, work: make(chan Op)}
	g.schedule(ctx)
	close(g.work)
	cfg.drain(ctx, g.endNS, &g.workers)
	return nil
}

type generator struct {
	cfg      Config
	do       func(context.Context, Op)
	work     chan Op
	workers  sync.WaitGroup
	inFlight atomic.Int64
	handOver lead // from the schedule's thread to the goroutine that sends

	// Only the scheduling goroutine touches these.
	endNS              int64 // end of the schedule, or of what was scheduled of it
	measureNS          int64
	unsent             uint64 // not yet told
	unsentFrom, lastNS int64
}

// piece is the longest sleep of the thread, which nothing can interrupt. Until then a
// timer waits, which costs less and may be late by less than that.
const piece = 50 * time.Millisecond

func (g *generator) schedule(ctx context.Context) {
	unpin := clock.Pin()
	defer unpin()
	sending := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-g.cfg.Stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	start := g.cfg.StartNS
	if start == 0 {
		start = clock.Mono()
	}
	g.measureNS = start + int64(g.cfg.Warmup)
	g.endNS = g.measureNS + int64(g.cfg.Duration)
	phases := []struct {
		state string
		atNS  int64
	}{{PhaseWarmup, start}, {PhaseMeasure, g.measureNS}}

	var sleep sleeper
	index, now := uint64(0), clock.Mono()
	g.lastNS = now
	for after := range g.cfg.Pacer {
		due := start + int64(after)
		early := due - g.handOver.ns()
		for len(phases) > 0 || now < early { // tell phases on time
			next := min(early, g.endNS)
			if len(phases) > 0 {
				if now >= phases[0].atNS {
					g.cfg.Phase(phases[0].state, phases[0].atNS)
					phases = phases[1:]
					continue
				}
				next = min(next, phases[0].atNS)
			}
			if now >= next {
				break
			}
			if far := next - int64(piece); now < far {
				sleepUntil(ctx, far)
			} else {
				sleep.until(next)
			}
			now = clock.Mono()
			if ctx.Err() != nil {
				break
			}
		}
		if ctx.Err() != nil {
			g.endNS = min(g.endNS, now)
		}
		if due >= g.endNS {
			sleep.until(g.endNS) // the time to hand over, at the most: nothing ends before its end
			break
		}
		g.offer(sending, Op{Index: index, IntendedNS: due, Measured: due >= g.measureNS}, now)
		index++
		now = clock.Mono()
	}
	g.tellUnsent()
	for _, p := range phases { // an interrupted warm-up never came to the measured part
		if p.atNS < g.endNS {
			g.cfg.Phase(p.state, p.atNS)
		}
	}
}

// grace is how long after the end of the schedule a late generator still sends.
const grace = 100 * time.Millisecond

func (g *generator) offer(ctx context.Context, op Op, now int64) {
	g.lastNS = now
	running := g.inFlight.Load()
	if running >= int64(g.cfg.MaxInFlight) || now > g.endNS+int64(grace) {
		g.skip(op)
		return
	}
	g.inFlight.Add(1)
	select {
	case g.work <- op:
	default:
		g.workers.Add(1)
		go g.worker(ctx, op)
	}
}

func (g *generator) worker(ctx context.Context, op Op) {
	defer g.workers.Done()
	for ok := true; ok; op, ok = <-g.work {
		op.SentNS = g.handOver.await(op.IntendedNS)
		g.do(ctx, op)
		g.inFlight.Add(-1)
	}
}

// skip counts an operation that cannot be sent, and tells about them in groups:
// one by one they would drown the history exactly when time is short.
func (g *generator) skip(op Op) {
	if g.unsent > 0 && op.IntendedNS-g.unsentFrom > int64(100*time.Millisecond) {
		g.tellUnsent()
	}
	if g.unsent == 0 {
		g.unsentFrom = op.IntendedNS
	}
	g.unsent++
}

func (g *generator) tellUnsent() {
	if g.unsent > 0 {
		g.cfg.Unsent(g.unsent, g.unsentFrom, min(g.lastNS, g.endNS))
		g.unsent = 0
	}
}
