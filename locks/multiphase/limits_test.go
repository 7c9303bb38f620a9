package multiphase_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
	var refused atomic.Int64
	work := peertest.Work{
		Callers: 100, Rounds: 4, Names: 300,
		Patience: func(*rand.Rand) time.Duration { return 300 * time.Millisecond },
		Inside: func(rand *rand.Rand) { // so that many are held at once
			<-clock.System().NewTimer(time.Duration(rand.IntN(20)) * time.Millisecond).C()
		},
		Refused: func(err error) {
			refused.Add(1)
			if !errors.Is(err, locks.ErrNotAcquired) {
				t.Errorf("want ErrNotAcquired, got %v", err)
			}
		},
	}
	peertest.Contend(t.Context(), t, all, &work)
	t.Logf("%d held, %d refused or in vain", work.Held.Load(), refused.Load())
	if work.Held.Load() == 0 {
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
