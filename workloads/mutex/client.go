package mutex

import (
	"context"
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
	masters []*httpapi.Client
	plan    Plan
	rec     history.Recorder

	mu    sync.Mutex
	total Status   // of all masters, over their lives
	last  []Status // what each said in this life

	// OnPhase, if set before Run, is called when a phase begins.
	OnPhase func(state string, atNS int64)
	// Stop, if set before Run, ends the plan before its time when it is closed.
	Stop <-chan struct{}
}

// NewClient is for what masters serve at the path. Phases are recorded to rec; everything else is
// recorded by the masters themselves.
func NewClient(path string, masters []Master, plan Plan, rec history.Recorder) *Client {
	c := &Client{path: path, plan: plan, rec: rec, last: make([]Status, len(masters))}
	for _, m := range masters {
		config := httpapi.ClientConfig{Name: "master " + m.Name, Token: m.Token, Timeout: requestTimeout}
		c.masters = append(c.masters, httpapi.NewClient(m.URL, config))
	}
	return c
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
		for _, h := range c.masters {
			h.Close()
		}
	}()
	for i := range c.masters {
		if err := c.start(ctx, i, 0); err != nil {
			c.stop(ctx)
			return err
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
	if going.Err() != nil {
		c.stop(ctx)
	}
	c.drain(context.WithoutCancel(ctx))
	c.phase(loadgen.PhaseEnd, clock.Mono())
	return nil
}

// Progress adds up what the masters last said.
func (c *Client) Progress() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
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
	for left := until - clock.Mono(); left > 0; left = until - clock.Mono() {
		if clock.Sleep(ctx, min(time.Duration(left), every)) != nil {
			return false
		}
		c.each(func(i int) {
			if s, err := c.status(ctx, i); err == nil && s.ID != c.plan.ID {
				_ = c.start(ctx, i, time.Duration(clock.Mono()-began)) // tried again at the next poll
			}
		})
	}
	return true
}

// drain waits until no master that answers is still running. The last acquisition
// may take its timeout, then the hold, then the timeout of the release.
func (c *Client) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*c.plan.Timeout+c.plan.Hold+requestTimeout)
	defer cancel()
	for running := true; running && ctx.Err() == nil; {
		var some atomic.Bool
		c.each(func(i int) {
			if s, err := c.status(ctx, i); err == nil && s.State == StateRunning {
				some.Store(true)
			}
		})
		if running = some.Load(); running {
			_ = clock.Sleep(ctx, pollEvery/4) // the loop looks at the context
		}
	}
}

func (c *Client) each(do func(i int)) {
	var wg sync.WaitGroup
	for i := range c.masters {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

func (c *Client) start(ctx context.Context, i int, elapsed time.Duration) error {
	plan := c.plan
	plan.Elapsed = min(elapsed, plan.Warmup+plan.Duration)
	_, err := c.call(ctx, i, http.MethodPost, "start", plan)
	return err
}

// stop has all masters stop, also when ctx is done. One that is dead has nothing to stop.
func (c *Client) stop(ctx context.Context) {
	c.each(func(i int) { _, _ = c.call(context.WithoutCancel(ctx), i, http.MethodPost, "stop", nil) })
}

// status asks a master, and counts what it did since it was asked last. A new life begins at nothing.
func (c *Client) status(ctx context.Context, i int) (Status, error) {
	s, err := c.call(ctx, i, http.MethodGet, "status", nil)
	if err != nil {
		return s, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.last[i]
	if c.last[i] = (Status{}); s.ID == c.plan.ID {
		c.total.Acquired += s.Acquired - last.Acquired
		c.total.Failed += s.Failed - last.Failed
		c.last[i] = s
	}
	return s, nil
}

func (c *Client) call(ctx context.Context, i int, method, verb string, in any) (s Status, err error) {
	if err := c.masters[i].Call(ctx, method, c.path+verb, in, &s); err != nil {
		return Status{}, fmt.Errorf("%s the workload: %w", verb, err)
	}
	return s, nil
}
