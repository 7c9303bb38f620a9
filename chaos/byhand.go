package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"locklab/chaos/fault"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// ErrRefused says that a fault cannot be begun, or ended, as things are.
var ErrRefused = errors.New("chaos: refused")

// Hand breaks one run with faults that somebody asks for while it goes on, as scenarios do:
// each is begun, proven, healed and proven to be over, and is in the ledger.
type Hand struct {
	config Config
	ctx    context.Context //nolint:containedctx // of the run: what is asked for goes on without who asked
	close  context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	count  int
	open   []*byHand
	failed error
}

// byHand is a fault that goes on.
type byHand struct {
	last   history.Event // that was recorded; once its end is asked for, that
	breaks []string      // what no second fault may break meanwhile
	healed chan struct{} // closed when its end is asked for
}

// NewHand takes faults until it is closed, or ctx ends.
func NewHand(ctx context.Context, config Config) *Hand {
	h := &Hand{config: config}
	h.ctx, h.close = context.WithCancel(ctx)
	return h
}

// Begin begins a fault and returns its name in the ledger at once. The error is
// [ErrRefused] if it has nothing to hit, or hits what another one has broken.
func (h *Hand) Begin(f fault.Fault) (id string, err error) {
	if len(f.Run) > 0 || f.Prepared || len(f.Windows(0, longest)) != 1 {
		return "", fmt.Errorf("a fault of the kind %s cannot be begun by hand: %w", f.Kind, ErrRefused)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return "", fmt.Errorf("the run is over: %w", ErrRefused)
	}
	id = fmt.Sprintf("%s-%d", f.Kind, h.count+1)
	b := &byHand{healed: make(chan struct{})}
	b.last = history.Event{ID: id, Fault: f.Kind, Target: f.Target, Aim: &f.Aim, State: history.FaultAsked}
	b.breaks = []string{"the " + f.Target} // one that moves may well be found again
	if !f.Moves() {
		plan, err := f.Plan(h.ctx, id, h.config.Inventory, h.config.Resolver)
		if err != nil {
			return "", fmt.Errorf("%w: %w", err, ErrRefused)
		}
		b.breaks = named(plan.Nodes())
		for _, p := range plan.Pairs {
			b.breaks = append(b.breaks, "the traffic from "+p.From+" to "+p.To)
		}
	}
	for _, other := range h.open {
		for _, thing := range b.breaks {
			if slices.Contains(other.breaks, thing) {
				return "", fmt.Errorf("%s is broken already, by %s: want one fault of it: %w", thing, other.last.ID, ErrRefused)
			}
		}
	}
	h.count++
	h.open = append(h.open, b)
	now := clock.Mono()
	e := &episode{
		hit: hit{config: h.config}, fault: f, id: id, target: f.Target,
		from: now, until: now, end: now + int64(longest), healed: b.healed,
	}
	if !f.Instant {
		e.until = e.end
	}
	e.config.Recorder = watched{h, b}
	h.wg.Go(func() {
		err := e.run(h.ctx)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.failed = errors.Join(h.failed, err)
		h.open = slices.DeleteFunc(h.open, func(o *byHand) bool { return o == b })
	})
	return id, nil
}

// named are nodes as things that can be broken.
func named(nodes []string) (things []string) {
	for _, node := range nodes {
		things = append(things, "node "+node)
	}
	return things
}

// longest is more than any run takes.
const longest = 1000 * time.Hour

// watched sees what is recorded of a fault.
type watched struct {
	hand  *Hand
	fault *byHand
}

func (w watched) Record(e history.Event) {
	w.hand.mu.Lock()
	w.fault.breaks = append(w.fault.breaks, named(e.Nodes)...)
	if w.fault.last.State != history.FaultHealAsked {
		w.fault.last = e
	}
	w.hand.mu.Unlock()
	w.hand.config.Recorder.Record(e)
}

// Heal asks for the end of a fault, or of all if id is empty, and returns at once.
func (h *Hand) Heal(id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	found := id == ""
	for _, b := range h.open {
		if id != "" && b.last.ID != id {
			continue
		}
		found = true
		if b.last.State != history.FaultHealAsked {
			b.last.State = history.FaultHealAsked
			close(b.healed)
		}
	}
	if !found {
		return fmt.Errorf("no fault %.80q is in force: %w", id, ErrRefused)
	}
	return nil
}

// Open has the last event of each fault that is not over, in the order in which they were asked for.
func (h *Hand) Open() (all []history.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.open {
		all = append(all, b.last)
	}
	return all
}

// Close heals everything and waits for that; the error is what could not be healed. The
// measured part is over for whatever goes on.
func (h *Hand) Close() error {
	h.mu.Lock()
	h.close() // nothing begins from here on
	h.mu.Unlock()
	h.wg.Wait()
	return h.failed
}
