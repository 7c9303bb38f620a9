package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/chaos"
	"locklab/chaos/fault"
	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/cluster"
	"locklab/cmd/locklab/internal/progress"
	"locklab/internal/nearest"
	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/reports/live"
	"locklab/workloads/result"
)

// playedScenario is the name of a run that is broken by hand. The second run of a lock is play-2.
const playedScenario = "play"

// mostPlayedRate is the highest rate by hand, in operations per second: more than two cores serve.
const mostPlayedRate = 2000

// Play is a session that goes on until the user ends it: one lock after the other, broken by hand. Its runs
// have no expectation and no verdict. It can be controlled from any goroutine.
type Play struct {
	config Config

	mu    sync.Mutex
	lock  catalog.Lock // of the run that goes on or begins
	rate  uint32
	begun uint32                       // the rate with which the run began
	hand  *chaos.Hand                  // while faults are taken
	rates func(perSecond uint32) error // while rates are taken
	stop  chan struct{}                // closed when the run is to end
	next  bool                         // another run follows
}

var _ live.Control = (*Play)(nil)

// longestPlay is the measured time of a run, which the user ends before.
const longestPlay = 24 * time.Hour

// NewPlay prepares a session that begins with the first lock; [Play.Run] plays it.
func NewPlay(c Config) (*Play, error) {
	rate := c.rate()
	if rate != math.Trunc(rate) || rate > mostPlayedRate {
		return nil, fmt.Errorf("--rate %v: want a whole number of 1 to %d a second, as the slider of the page has it",
			rate, mostPlayedRate)
	}
	c.Duration = longestPlay
	return &Play{config: c, lock: c.Locks[0], rate: uint32(rate)}, nil
}

var errNotYet = errors.New("the lab starts or stops right now: try again in a moment")

// Begin begins a fault, written in JSON as in a scenario.
func (p *Play) Begin(text []byte) error {
	f, err := fault.Parse(text)
	if err != nil {
		return readable(err)
	}
	hand := p.taken()
	if hand == nil {
		return errNotYet
	}
	for _, role := range f.LoseData {
		if err := checkData(role); err != nil {
			return err
		}
	}
	_, err = hand.Begin(f)
	return readable(err)
}

// Heal ends a fault, or all.
func (p *Play) Heal(id string) error {
	if hand := p.taken(); hand != nil {
		return readable(hand.Heal(id))
	}
	return errNotYet
}

// taken takes faults; it is nil while none are taken.
func (p *Play) taken() *chaos.Hand {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hand
}

// readable is an error in a fault by hand, for people.
func readable(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.TrimPrefix(Said(err), "fault:1: "))
}

// SetRate changes the rate of this run and of those that follow.
func (p *Play) SetRate(perSecond uint32) error {
	if perSecond < 1 || perSecond > mostPlayedRate {
		return fmt.Errorf("rate %d: want 1 to %d a second", perSecond, mostPlayedRate)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rates != nil && perSecond != p.rate {
		if err := p.rates(perSecond); err != nil {
			return err
		}
	}
	p.rate = perSecond
	return nil
}

// Switch ends the run, heals everything, and begins the next one.
func (p *Play) Switch(name string) error {
	names := catalog.Texts(p.config.Locks)
	i := slices.Index(names, name)
	if i < 0 {
		return fmt.Errorf("unknown lock %.80q: want one of %s%s", name, strings.Join(names, ", "), nearest.Hint(name, names))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hand == nil {
		return errNotYet
	}
	p.lock, p.next = p.config.Locks[i], true
	p.finish()
	return nil
}

// finish ends the run if there is one; p.mu is held.
func (p *Play) finish() {
	if p.hand != nil {
		p.hand, p.rates = nil, nil
		close(p.stop)
	}
}

// State is the present state.
func (p *Play) State() live.ControlState {
	p.mu.Lock()
	hand, lock := p.hand, p.lock
	s := live.ControlState{
		Lock: lock.String(), Locks: catalog.Texts(p.config.Locks), PerS: p.rate, MostPerS: mostPlayedRate,
		Running: hand != nil,
	}
	p.mu.Unlock()
	for _, n := range lock.Part(p.config.Topology).Nodes() {
		s.Nodes = append(s.Nodes, live.Node{Name: n.Name, Role: n.Role})
		if !slices.Contains(s.Zones, n.Zone) {
			s.Zones = append(s.Zones, n.Zone)
		}
	}
	if hand != nil {
		s.Faults = hand.Open()
	}
	return s
}

// playTries is how many runs in a row may end by themselves, such as on a busy machine.
const playTries = 3

// Run plays into a directory until ctx ends, and a board follows. That is no interruption: the present run ends as if
// it had been that long, and is in the file, which is as with [Compare].
func (p *Play) Run(ctx context.Context, dir string, board *live.Board, display *progress.Display) (result.File, error) {
	p.config.Dir, p.config.Live = dir, board
	return onFleet(ctx, []Config{p.config}, nil, display, func(fleet *cluster.Fleet, rows *results) error {
		for failures := 0; ctx.Err() == nil; {
			lock, err := p.one(ctx, fleet, display, rows)
			switch {
			case ctx.Err() != nil && (err == nil || errors.Is(err, errInterrupted)): // it may not have begun to measure
				return nil
			case err != nil:
				return fmt.Errorf("%s: %w", lock, err)
			}
			failures++ // of runs that ended by themselves
			p.mu.Lock()
			if p.next {
				failures = 0
			}
			p.mu.Unlock()
			if failures == playTries {
				return fmt.Errorf("%s: %d runs ended by themselves, one after the other: the report says why", lock, failures)
			}
		}
		return nil
	})
}

// one plays one run, of the lock that it returns.
func (p *Play) one(
	ctx context.Context, fleet *cluster.Fleet, display *progress.Display, rows *results,
) (catalog.Lock, error) {
	p.mu.Lock()
	p.stop, p.next, p.begun = make(chan struct{}), false, p.rate
	lock, config := p.lock, p.config
	config.Rate = float64(p.rate)
	p.mu.Unlock()
	s := scenario.Scenario{Name: playedScenario}
	for n := 2; rows.done(config.key(lock, s), 1); n++ {
		s.Name = fmt.Sprintf("%s-%d", playedScenario, n)
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.finish(); !signals.Closed(p.stop) {
			cancel() // nothing is measured yet
		}
	})()
	x := &experiment{
		config: &config, fleet: fleet, display: display, lock: lock, scenario: s, repeat: 1,
		byHand: p.during, stop: p.stop,
	}
	display.Begin(x.name(), 0)
	err := x.kept(own, rows)
	p.mu.Lock()
	p.hand, p.rates = nil, nil
	p.mu.Unlock()
	return lock, err
}

// during takes faults and rates from the beginning of the measured part until the run ends, and heals everything.
func (p *Play) during(ctx, done context.Context, faults chaos.Config, clients catalog.Clients, from int64) error {
	if err := clock.Sleep(ctx, time.Duration(from-clock.Mono())); err != nil {
		return nil //nolint:nilerr // the run ended before
	}
	hand := chaos.NewHand(ctx, faults)
	var err error
	p.mu.Lock()
	p.hand, p.rates = hand, clients.SetRate
	stop := p.stop
	if p.rate != p.begun { // it was changed while the lab started
		err = clients.SetRate(p.rate)
	}
	p.mu.Unlock()
	select {
	case <-stop:
	case <-done.Done():
	}
	return errors.Join(err, hand.Close())
}
