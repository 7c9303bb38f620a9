package mutex

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// Master is one master that runs the plan.
type Master struct {
	Name string
	URL  string // http://host:port
	// Token is what its requests must bear, if they must.
	Token string
}

// Client is the controller's side: it has all masters run one plan.
type Client struct {
	path    string
	masters []Master
	plan    Plan
	rec     history.Recorder
	http    []*httpapi.Client // of each master
	states  []masterState

	// OnPhase, if set before Run, is called when a phase begins.
	OnPhase func(state string, atNS int64)
	// Stop, if set before Run, ends the plan before its time when it is closed.
	Stop <-chan struct{}
}

// masterState is what one master last said. Its fields add up over its lives.
type masterState struct {
	mu          sync.Mutex
	before, now Status // of earlier lives, and of this one
}

// NewClient checks the plan, for what masters serve at the path. Phases are recorded to rec; everything else is
// recorded by the masters themselves.
func NewClient(path string, masters []Master, plan Plan, rec history.Recorder) (*Client, error) {
	if len(masters) == 0 {
		return nil, errors.New("mutex: no masters")
	}
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	c := &Client{path: path, masters: masters, plan: plan, rec: rec, states: make([]masterState, len(masters))}
	for _, m := range masters {
		c.http = append(c.http, httpapi.NewClient(m.URL, httpapi.ClientConfig{Name: "master " + m.Name, Token: m.Token}))
	}
	return c, nil
}

const (
	requestTimeout = 2 * time.Second
	pollEvery      = 200 * time.Millisecond
	// pollShare is the least that pollEvery is for each master: to ask must not be what
	// the machine of many masters is busy with.
	pollShare = 20 * time.Millisecond
)

// Run starts the plan on all masters and returns when it is over, or stopped, on all that can
// be reached. It fails only if a master cannot be started at the beginning; one
// that dies later is started again, for the rest of the time, when it is back. When
// ctx is done the plan is stopped.
func (c *Client) Run(ctx context.Context) error {
	defer func() {
		for _, h := range c.http {
			h.Close()
		}
	}()
	for i := range c.masters {
		if err := c.start(ctx, i, 0); err != nil {
			stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
			defer cancel()
			return errors.Join(err, c.stop(stopCtx))
		}
	}
	began := clock.Mono()
	measure := began + int64(c.plan.Warmup)
	end := measure + int64(c.plan.Duration)
	c.phase(loadgen.PhaseWarmup, began)
	going, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-c.Stop:
			stop()
		case <-going.Done():
		}
	}()
	if c.watch(going, began, measure) {
		c.phase(loadgen.PhaseMeasure, measure)
		c.watch(going, began, end)
	}
	c.phase(loadgen.PhaseDrain, min(end, clock.Mono()))
	var err error
	if going.Err() != nil {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		err = c.stop(stopCtx)
		cancel()
	}
	if ctx.Err() == nil {
		err = nil // a master that is dead has nothing to stop
	}
	c.drain(context.WithoutCancel(ctx))
	c.phase(loadgen.PhaseEnd, clock.Mono())
	return err
}

// Progress adds up what the masters last said.
func (c *Client) Progress() Status {
	total := Status{ID: c.plan.ID, State: StateRunning}
	for i := range c.states {
		s := &c.states[i]
		s.mu.Lock()
		total.Acquired += s.before.Acquired + s.now.Acquired
		total.Failed += s.before.Failed + s.now.Failed
		total.Unsent += s.before.Unsent + s.now.Unsent
		s.mu.Unlock()
	}
	return total
}

func (c *Client) phase(state string, atNS int64) {
	c.rec.Record(history.Event{Kind: history.KindPhase, State: state, AtNS: atNS})
	if c.OnPhase != nil {
		c.OnPhase(state, atNS)
	}
}

// watch polls the masters until the moment, and starts those again that forgot
// their plan. It returns false if ctx was done first.
func (c *Client) watch(ctx context.Context, began, until int64) bool {
	every := max(pollEvery, time.Duration(len(c.masters))*pollShare)
	for {
		left := until - clock.Mono()
		if left <= 0 {
			return true
		}
		if clock.Sleep(ctx, min(time.Duration(left), every)) != nil {
			return false
		}
		c.each(func(i int) {
			s, err := c.status(ctx, i)
			if err == nil && s.ID != c.plan.ID {
				c.forgot(i)
				_ = c.start(ctx, i, time.Duration(clock.Mono()-began)) // tried again at the next poll
			}
		})
	}
}

// drain waits until no master that answers is still running. The last acquisition
// may take its timeout, then the hold, then the timeout of the release.
func (c *Client) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*c.plan.Timeout+c.plan.Hold+requestTimeout)
	defer cancel()
	for ctx.Err() == nil {
		var running atomic.Bool
		c.each(func(i int) {
			if s, err := c.status(ctx, i); err == nil && s.State == StateRunning {
				running.Store(true)
			}
		})
		if !running.Load() {
			return
		}
		_ = clock.Sleep(ctx, pollEvery/4) // the loop looks at the context
	}
}

func (c *Client) each(do func(i int)) {
	var wg sync.WaitGroup
	for i := range c.masters {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

// forgot keeps the counts of a life that is over.
func (c *Client) forgot(i int) {
	s := &c.states[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before.Acquired += s.now.Acquired
	s.before.Failed += s.now.Failed
	s.before.Unsent += s.now.Unsent
	s.now = Status{}
}

func (c *Client) start(ctx context.Context, i int, elapsed time.Duration) error {
	plan := c.plan
	plan.Elapsed = min(elapsed, plan.Warmup+plan.Duration)
	_, err := c.call(ctx, i, http.MethodPost, "start", plan)
	return err
}

func (c *Client) stop(ctx context.Context) error {
	errs := make([]error, len(c.masters))
	c.each(func(i int) { _, errs[i] = c.call(ctx, i, http.MethodPost, "stop", nil) })
	return errors.Join(errs...)
}

func (c *Client) status(ctx context.Context, i int) (Status, error) {
	s, err := c.call(ctx, i, http.MethodGet, "status", nil)
	if err == nil && s.ID == c.plan.ID {
		state := &c.states[i]
		state.mu.Lock()
		state.now = s
		state.mu.Unlock()
	}
	return s, err
}

func (c *Client) call(ctx context.Context, i int, method, verb string, in any) (s Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := c.http[i].Call(ctx, method, c.path+verb, in, &s); err != nil {
		return Status{}, fmt.Errorf("%s the workload: %w", verb, err)
	}
	return s, nil
}
