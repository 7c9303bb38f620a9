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

// ErrRefused says that a fault cannot be begun or ended now.
var ErrRefused = errors.New("chaos: refused")

// Hand breaks a run with faults that a user begins while it goes on. As in scenarios, each is begun, proven,
// healed, proven over, and recorded.
type Hand struct {
	config Config
	ctx    context.Context //nolint:containedctx // of the run: a fault outlives the request for it
	close  context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	count  int
	open   []*byHand
	failed error
}

// byHand is a fault in force.
type byHand struct {
	last   history.Event // the last recorded; nothing after the request to heal
	breaks []string      // nodes and traffic that no second fault may break
	healed chan struct{} // closed when the heal is requested
}

// NewHand takes faults until it is closed, or ctx ends.
func NewHand(ctx context.Context, config Config) *Hand {
	h := &Hand{config: config}
	h.ctx, h.close = context.WithCancel(ctx)
	return h
}

// Begin begins a fault and returns its name in the ledger at once. The error is [ErrRefused] if the fault has
// no target, or hits what another fault has broken.
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
	b.breaks = []string{"the " + f.Target} // a second one on a moving target may find the same node
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
		config: h.config, fault: f, id: id, target: f.Target,
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

// named names nodes as entries of breaks.
func named(nodes []string) (things []string) {
	for _, node := range nodes {
		things = append(things, "node "+node)
	}
	return things
}

// longest is longer than any run.
const longest = 1000 * time.Hour

// watched passes a fault's events on and keeps the last one.
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

// Heal requests the end of a fault, or of all if id is empty, and returns at once.
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

// Open returns the last event of each fault that is not over, oldest fault first.
func (h *Hand) Open() (all []history.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.open {
		all = append(all, b.last)
	}
	return all
}

// Close ends the measured part for all faults in force, heals them and waits; the error names what could not
// be healed.
func (h *Hand) Close() error {
	h.mu.Lock()
	h.close() // nothing begins from here on
	h.mu.Unlock()
	h.wg.Wait()
	return h.failed
}
