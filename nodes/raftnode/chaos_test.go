package raftnode_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/internal/seed"
	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/nodes/raftnode"
)

// register is a resource that checks what the lock promises: a holder that has not
// been told otherwise is alone, and tokens grow.
type register struct {
	mu     sync.Mutex
	holder locks.Lease
	last   locks.Token
	errs   []string
}

func (r *register) enter(l locks.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	token, _ := l.Token()
	if token <= r.last {
		r.errs = append(r.errs, "a token did not grow")
	}
	r.last = token
	if r.holder != nil {
		if !signals.Closed(r.holder.Lost()) {
			r.errs = append(r.errs, "two holders, and the first was not told")
		}
	}
	r.holder = l
}

func (r *register) leave(l locks.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holder == l {
		r.holder = nil
	}
}

// TestExclusionWhileServersDieAndPart runs clients against a service whose servers
// are stopped, started and cut off at random: a seeded schedule of 25 disturbances.
func TestExclusionWhileServersDieAndPart(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, raftnode.Config{SnapshotEntries: 64})
	c.leader()
	var r register
	var granted atomic.Uint64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var workers sync.WaitGroup
	for range 3 {
		client := c.locker(2 * time.Second)
		for range 2 {
			workers.Go(func() {
				for ctx.Err() == nil {
					work(ctx, t, client, &r, &granted)
				}
			})
		}
	}
	disturb(t, c, seed.Seed(1), &granted)
	stop()
	workers.Wait()
	for _, err := range r.errs {
		t.Error(err)
	}
	t.Logf("%d grants", granted.Load())
}

func work(ctx context.Context, t *testing.T, client locks.Locker, r *register, granted *atomic.Uint64) {
	once, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
	defer cancel()
	lease, err := client.Acquire(once, "r")
	if err != nil {
		if !errors.Is(err, locks.ErrNotAcquired) && !errors.Is(err, locks.ErrUnknown) {
			t.Errorf("acquire: %v", err)
		}
		return
	}
	r.enter(lease)
	granted.Add(1)
	r.leave(lease)
	if err := lease.Release(once); err != nil && !errors.Is(err, locks.ErrUnknown) && !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("release: %v", err)
	}
}

// disturb breaks one thing at a time and heals it once the service goes on.
func disturb(t *testing.T, c *cluster, s seed.Seed, granted *atomic.Uint64) {
	rand := s.Rand()
	goesOn := func() {
		before := granted.Load()
		locktest.Eventually(t, "grants to go on", func() bool { return granted.Load() > before+5 })
	}
	pause := clock.System().NewTimer(0)
	for range 25 {
		victim := c.names[rand.IntN(len(c.names))]
		if rand.IntN(2) == 0 {
			victim = c.leader()
		}
		switch rand.IntN(3) {
		case 0:
			c.stop(victim)
			goesOn()
			c.start(victim)
		case 1:
			c.cut(victim, true)
			goesOn()
			c.cut(victim, false)
		case 2: // only its clients lose it, for a moment
			c.clientLinks[victim].Cut(true)
			<-pause.C()
			pause.Reset(time.Duration(rand.IntN(100)) * time.Millisecond)
			c.clientLinks[victim].Cut(false)
		}
		goesOn()
	}
	pause.Stop()
}
