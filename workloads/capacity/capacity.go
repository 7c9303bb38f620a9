// Package capacity measures how many grants a second a lock gives at most: closed loops of
// clients in every master acquire and release with nothing in between, first each on a
// resource of its own, then all on one.
//
//	controller                 each master
//	Measure ──POST /v1/capacity/──▶ clients ──▶ locks.Locker
//	        ◀── {"grants": n} ─────
//
// The load is meant to fill the machine, so compare figures within one run only. Single holds are not recorded,
// because that would add to the cost.
package capacity

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/internal/httpapi"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// Path is where masters serve the workload.
const Path = "/v1/capacity/"

// Load is what each master runs.
type Load struct {
	// Clients is the number of clients in each master.
	Clients int `json:"clients"`
	// One has all clients of all masters want one resource; else each has its own.
	One bool `json:"one,omitzero"`
	// Warmup is how long the clients run before grants are counted, Duration how long they are counted.
	Warmup   time.Duration `json:"warmup_ns,format:nano"`
	Duration time.Duration `json:"duration_ns,format:nano"`
}

// DefaultLoad is what every comparison measures.
func DefaultLoad() Load {
	return Load{Clients: 64, Warmup: 500 * time.Millisecond, Duration: 2 * time.Second}
}

const (
	timeout = history.Patience      // of one acquisition, and of a release
	pause   = 10 * time.Millisecond // after a refusal, so that clients do not spin
)

// Result is what one master measured.
type Result struct {
	Grants uint64 `json:"grants"`
}

// Handler is the workload's side in the master of that name; requests must bear the token, if
// it is not empty.
func Handler(node, token string, locker locks.Locker) http.Handler {
	api := httpapi.New(httpapi.Config{Name: "master", Token: token})
	httpapi.Post(api, "POST "+Path, func(r *http.Request, load Load) (any, error) {
		return measure(r.Context(), node, locker, load), nil
	})
	return api
}

// measure returns when the load is over and everything was released.
func measure(ctx context.Context, node string, locker locks.Locker, load Load) Result {
	lasts := load.Warmup + load.Duration
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	from := clock.Mono() + int64(load.Warmup)
	end := from + int64(load.Duration)
	var grants atomic.Uint64
	loadgen.Closed(ctx, lasts, load.Clients, func(ctx context.Context, client int, _ loadgen.Op) {
		resource := history.CapacityResource
		if !load.One {
			resource += "-" + node + "-" + strconv.Itoa(client)
		}
		if at, granted := cycle(ctx, locker, resource); granted && from <= at && at < end {
			grants.Add(1)
		}
	})
	return Result{Grants: grants.Load()}
}

// cycle acquires and releases once, and says when the lock was granted, on clock.Mono.
func cycle(ctx context.Context, locker locks.Locker, resource string) (at int64, granted bool) {
	acquire, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	lease, err := locker.Acquire(acquire, resource)
	if err != nil {
		_ = clock.Sleep(ctx, pause) // the loop looks at the context
		return 0, false
	}
	at = clock.Mono()
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	_ = lease.Release(release) // a failed release delays the next grant, and so shows in the figure
	return at, true
}

// Measure has all masters run the load at once, and returns the event that records it.
func Measure(ctx context.Context, masters []loadgen.Master, load Load) (history.Event, error) {
	began := clock.Mono()
	ctx, cancel := context.WithTimeout(ctx, load.Warmup+load.Duration+2*timeout)
	defer cancel()
	results := make([]Result, len(masters))
	group, ctx := errgroup.WithContext(ctx)
	for i, m := range masters {
		group.Go(func() error {
			client := httpapi.NewClient(m.URL, httpapi.ClientConfig{Name: "master " + m.Name, Token: m.Token})
			defer client.Close()
			if err := client.Call(ctx, http.MethodPost, Path, load, &results[i]); err != nil {
				return fmt.Errorf("measure capacity: %w", err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return history.Event{}, err
	}
	e := history.Event{
		Kind: history.KindCapacity, State: history.CapacityOwn,
		FromNS: began, SentNS: began + int64(load.Warmup), AtNS: began + int64(load.Warmup+load.Duration),
	}
	if load.One {
		e.State = history.CapacityOne
	}
	for _, r := range results {
		e.Count += r.Grants
	}
	return e, nil
}
