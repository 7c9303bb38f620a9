package mutex

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/httpapi"
	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// Client is the controller's side: it has all masters run one load.
type Client struct {
	Masters []loadgen.Master // that run the load
	Load    Load
	// StartNS is when the load begins, on clock.Mono.
	StartNS int64
	// Stop ends the load before its time when it is closed; nil never does.
	Stop <-chan struct{}
	// Recorder gets the phases; everything else is recorded by the masters themselves.
	Recorder history.Recorder
}

const (
	requestTimeout = 2 * time.Second
	pollEvery      = 200 * time.Millisecond
	// pollShare is the least of pollEvery for each master, so that polling many masters does not load the machine.
	pollShare = 20 * time.Millisecond
)

// Run starts the load on all masters and returns when it is over, or stopped, on all that can
// be reached. It fails only if a master cannot be started at the beginning; one
// that dies later is started again, for the rest of the time, when it is back. When
// ctx is done the load is stopped.
func (c Client) Run(ctx context.Context) error {
	var all masters
	for _, m := range c.Masters {
		config := httpapi.ClientConfig{Name: "master " + m.Name, Token: m.Token, Timeout: requestTimeout}
		h := httpapi.NewClient(m.URL, config)
		defer h.Close()
		all = append(all, h)
	}
	_ = clock.Sleep(ctx, time.Duration(c.StartNS-clock.Mono())) // the requests look at the context
	for _, h := range all {
		if err := c.start(ctx, h, 0); err != nil {
			all.stop(ctx)
			return err
		}
	}
	measure := c.StartNS + int64(c.Load.Warmup)
	end := measure + int64(c.Load.Duration)
	c.phase(history.PhaseWarmup, c.StartNS)
	going, stop := signals.Until(ctx, c.Stop)
	defer stop()
	if c.watch(going, all, measure) {
		c.phase(history.PhaseMeasure, measure)
		c.watch(going, all, end)
	}
	c.phase(history.PhaseDrain, min(end, clock.Mono()))
	if going.Err() != nil {
		all.stop(ctx)
	}
	c.drain(context.WithoutCancel(ctx), all)
	c.phase(history.PhaseEnd, clock.Mono())
	return nil
}

func (c Client) phase(state string, atNS int64) {
	c.Recorder.Record(history.Event{Kind: history.KindPhase, State: state, AtNS: atNS})
}

// watch polls the masters until the moment, and restarts the load on those that lost it. It returns false if ctx
// was done first.
func (c Client) watch(ctx context.Context, all masters, until int64) bool {
	every := max(pollEvery, time.Duration(len(all))*pollShare)
	for left := until - clock.Mono(); left > 0; left = until - clock.Mono() {
		if clock.Sleep(ctx, min(time.Duration(left), every)) != nil {
			return false
		}
		all.each(func(h *httpapi.Client) {
			if s, err := call(ctx, h, http.MethodGet, "status", nil); err == nil && s.State == StateIdle {
				_ = c.start(ctx, h, time.Duration(clock.Mono()-c.StartNS)) // tried again at the next poll
			}
		})
	}
	return true
}

// drain waits until no master that answers is still running. The last acquisition
// may take its timeout, then the hold, then the timeout of the release.
func (c Client) drain(ctx context.Context, all masters) {
	ctx, cancel := context.WithTimeout(ctx, 2*c.Load.Timeout+c.Load.Hold+requestTimeout)
	defer cancel()
	for {
		var running atomic.Bool
		all.each(func(h *httpapi.Client) {
			if s, err := call(ctx, h, http.MethodGet, "status", nil); err == nil && s.State == StateRunning {
				running.Store(true)
			}
		})
		if !running.Load() || clock.Sleep(ctx, pollEvery/4) != nil {
			return
		}
	}
}

func (c Client) start(ctx context.Context, h *httpapi.Client, elapsed time.Duration) error {
	load := c.Load
	load.Elapsed = min(elapsed, load.Warmup+load.Duration)
	_, err := call(ctx, h, http.MethodPost, "start", load)
	return err
}

type masters []*httpapi.Client

func (all masters) each(do func(h *httpapi.Client)) {
	var wg sync.WaitGroup
	for _, h := range all {
		wg.Go(func() { do(h) })
	}
	wg.Wait()
}

// stop has all masters stop, also when ctx is done. Dead ones need not.
func (all masters) stop(ctx context.Context) {
	all.each(func(h *httpapi.Client) { _, _ = call(context.WithoutCancel(ctx), h, http.MethodPost, "stop", nil) })
}

func call(ctx context.Context, h *httpapi.Client, method, verb string, in any) (s Status, err error) {
	if err := h.Call(ctx, method, Path+verb, in, &s); err != nil {
		return Status{}, fmt.Errorf("%s the workload: %w", verb, err)
	}
	return s, nil
}
