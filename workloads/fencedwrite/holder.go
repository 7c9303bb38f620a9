package fencedwrite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/internal/httpapi"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/workloads/history"
	"locklab/workloads/mutex"
)

// Address is where a store is reached.
type Address struct{ Name, URL string }

// Config is the workload's side in a master.
type Config struct {
	mutex.Config
	Stores     []Address
	StoreToken string // what requests to the stores must bear
}

// Workload is that of package mutex, whose holders write if the load says so.
type Workload struct {
	*mutex.Workload
	stores []*httpapi.Client // in the order that all masters know
}

// Handler is the workload's side in the master. Close it before the locker.
func Handler(c Config) *Workload {
	w := &Workload{}
	slices.SortFunc(c.Stores, func(a, b Address) int { return cmp.Compare(a.Name, b.Name) })
	for _, a := range c.Stores {
		config := httpapi.ClientConfig{Name: "store of " + a.Name, Token: c.StoreToken, Kinds: kinds()}
		w.stores = append(w.stores, httpapi.NewClient(a.URL, config))
	}
	c.Use = w.use
	w.Workload = mutex.Handler(c.Config)
	return w
}

// Close stops the holders and waits until all was released.
func (w *Workload) Close() {
	w.Workload.Close()
	for _, s := range w.stores {
		s.Close()
	}
}

// use reads, works and writes. It does not repeat a request that timed out.
func (w *Workload) use(ctx context.Context, h *mutex.Held) {
	timeout := cmp.Or(h.Load.Second, time.Second) / 2 // of one request, as masters bound theirs to workers
	store := w.storeOf(h)
	read, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := store.Read(read); err != nil {
		return // nothing to build on
	}
	// The work ends when the hold is known to be lost: only a client that cannot know writes late.
	works, cancel := context.WithTimeout(ctx, h.Load.Hold)
	defer cancel()
	select {
	case <-works.Done():
	case <-h.Lost():
	}
	if ctx.Err() != nil || locks.Over(h) {
		return
	}
	if w.Granted != nil {
		w.Granted(h.Resource)
	}
	write, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, _ = store.Write(write, !h.Load.Unfenced) // the result is on record
}

// storeOf is the lock's own store, or the one of the resource.
func (w *Workload) storeOf(h *mutex.Held) locks.Store {
	seen := history.Event{Node: w.Node, Client: w.Node, Hold: h.ID, Resource: h.Resource, Token: uint64(h.Fence)}
	if s, ok := h.Lease.(locks.Storer); ok {
		if own, ok := s.Store(); ok {
			return &recorded{Store: own, rec: w.Recorder, seen: seen}
		}
	}
	n, _ := strconv.Atoi(strings.TrimLeft(h.Resource, "r")) // any other name goes to the first
	r := &remote{http: w.stores[n%len(w.stores)], ask: request{Resource: h.Resource, Hold: h.ID, By: w.Node}}
	if !h.Load.Unfenced {
		r.ask.Token = uint64(h.Fence)
	}
	return r
}

var (
	_ locks.Store = (*remote)(nil)
	_ locks.Store = (*recorded)(nil)
)

// remote is a store in a worker, for one hold. It shows its token, if any, with reads too: so the store learns of
// the newest holder when that reads.
type remote struct {
	http *httpapi.Client
	ask  request
}

func (r *remote) Read(ctx context.Context) (uint64, error) {
	version, err := r.call(ctx, "read")
	r.ask.Base = version
	return version, err
}

func (r *remote) Write(ctx context.Context, _ bool) (uint64, error) { return r.call(ctx, "write") }

func (r *remote) call(ctx context.Context, verb string) (uint64, error) {
	var a answer
	err := r.http.Call(ctx, http.MethodPost, StorePath+verb, r.ask, &a)
	switch {
	case err == nil:
		return a.Version, nil
	case errors.Is(err, errFenced):
		err = fmt.Errorf("%w: %w", locks.ErrNotHeld, err)
	case errors.Is(err, httpapi.ErrNotSent):
		err = fmt.Errorf("%w: %w", locks.ErrUnavailable, err)
	}
	return 0, fmt.Errorf("%s %q: %w", verb, r.ask.Resource, err)
}

// recorded is the store of a lock's service, and records what that does.
type recorded struct {
	locks.Store
	rec  history.Recorder
	seen history.Event // what all its events have
	base uint64
}

func (r *recorded) Read(ctx context.Context) (uint64, error) {
	version, err := r.Store.Read(ctx)
	e := r.seen
	e.Kind, e.AtNS, e.Version = history.KindRead, clock.Mono(), version
	switch {
	case err == nil:
		r.base = version
	case errors.Is(err, locks.ErrNotHeld):
		e.State = history.WriteRefused
	default:
		return 0, err
	}
	r.rec.Record(e)
	return version, err
}

func (r *recorded) Write(ctx context.Context, checked bool) (uint64, error) {
	version, err := r.Store.Write(ctx, checked)
	e := r.seen
	e.Kind, e.AtNS, e.State, e.Version, e.Base = history.KindWrite, clock.Mono(), history.WriteAccepted, version, r.base
	switch {
	case err == nil:
	case errors.Is(err, locks.ErrNotHeld):
		e.State, e.Version = history.WriteRefused, r.base // it is at least that
	case errors.Is(err, locks.ErrUnavailable):
		return 0, err // surely nothing was written
	default:
		e.State, e.Version = history.WriteUnknown, r.base // the version that it met is no older
	}
	if !checked {
		e.Token = 0
	}
	history.Commit(r.rec, e)
	return version, err
}
