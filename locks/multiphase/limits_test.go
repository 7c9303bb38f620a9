package multiphase_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock/mesh"
	"locklab/verify/peertest"
)

// TestLimitsSplitNothing has peers of which one or all have tiny limits want far more than
// fits, over a network that is well. Whoever is told to hold must hold alone, whoever
// can't have more must be told so or wait, and no connection may be lost.
func TestLimitsSplitNothing(t *testing.T) {
	resources := func(c *multiphase.Config) { c.Resources = 16 }
	queue := func(c *multiphase.Config) { c.Limits = mesh.Limits{Frame: 512, Queue: 512} }
	for name, limit := range map[string]func(*multiphase.Config){
		"resources of one": func(c *multiphase.Config) {
			if c.Rank == 1 {
				resources(c)
			}
		},
		"resources of all": resources,
		"queues of one": func(c *multiphase.Config) {
			if c.Rank == 1 {
				queue(c)
			}
		},
		"queues of all":               queue,
		"resources and queues of all": func(c *multiphase.Config) { resources(c); queue(c) },
	} {
		for variant, options := range map[string]multiphase.Options{"plain": multiphase.DefaultOptions(), "quorum": quorum(time.Minute)} {
			t.Run(variant+", "+name, func(t *testing.T) {
				lost := &counting{text: "disconnected"}
				all := cluster(t, 3, func(c *multiphase.Config) {
					c.Options, c.Founding = options, true
					limit(c)
					c.Log = slog.New(lost)
				})
				overload(t, all)
				for _, l := range all {
					if n := peertest.Links(l); n != 2 {
						t.Errorf("connected to %d of 2 peers", n)
					}
				}
				if n := lost.seen.Load(); n > 0 {
					t.Errorf("%d connections were lost", n)
				}
			})
		}
	}
}

// overload has callers of each peer hold many names at a time.
func overload(t *testing.T, all []*multiphase.Locker) {
	t.Helper()
	const callers, rounds, names = 100, 4, 300 // callers and rounds of each peer
	inside := make([]atomic.Int32, names)
	var held, refused atomic.Int64
	var wg sync.WaitGroup
	for i, l := range all {
		for c := range callers {
			rand := seed.Seed(i).Child(fmt.Sprint(c)).Rand()
			wg.Go(func() {
				for range rounds {
					name := rand.IntN(names)
					ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
					lease, err := l.Acquire(ctx, fmt.Sprint("limited/", name))
					cancel()
					if err != nil {
						refused.Add(1)
						if !errors.Is(err, locks.ErrNotAcquired) {
							t.Errorf("want ErrNotAcquired, got %v", err)
						}
						continue
					}
					held.Add(1)
					if n := inside[name].Add(1); n != 1 {
						t.Errorf("%d holders of name %d", n, name)
					}
					<-clock.System().NewTimer(time.Duration(rand.IntN(20)) * time.Millisecond).C() // so that many are held at once
					inside[name].Add(-1)
					if err := lease.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	t.Logf("%d held, %d refused or in vain", held.Load(), refused.Load())
	if held.Load() == 0 {
		t.Error("nobody ever held anything")
	}
}

// counting is a log that counts the messages with a text in them.
type counting struct {
	slog.Handler
	text string
	seen atomic.Int64
}

func (*counting) Enabled(context.Context, slog.Level) bool { return true }

func (c *counting) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, c.text) {
		c.seen.Add(1)
	}
	return nil
}
