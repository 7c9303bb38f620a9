package peertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/peerlock"
)

// NeedsEveryPeer tests a lock that is granted to none without every peer.
func NeedsEveryPeer[O any, L Peer](t *testing.T, options O, start func(peerlock.Config[O]) (L, error)) {
	t.Run("conforms", func(t *testing.T) {
		locktest.Run(t, locktest.Subject{New: func(tb testing.TB) []locks.Locker {
			return Supervised(tb, Configs(tb, 3, options), start)
		}})
	})
	t.Run("many names", func(t *testing.T) { ManyNames(t, StartAll(t, Configs(t, 3, options), start)) })
	t.Run("a dead peer blocks, and waits go on once it is back without its memory", func(t *testing.T) {
		cfgs := Configs(t, 3, options)
		all := StartAll(t, cfgs, start)
		locktest.Acquire(t, all[2], "r") // it dies with the lock in its hands
		_ = all[2].Close()
		for _, l := range all[:2] {
			AwaitLink(t, l, "p2", false)
			err := locktest.Refused(t, l, "r", 100*time.Millisecond)
			named := err != nil && strings.Contains(err.Error(), "p2")
			if !named || !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, locks.ErrUnavailable) {
				t.Fatalf("with a dead peer, want ErrNotAcquired and ErrUnavailable that names p2, got %v", err)
			}
		}
		waits := []<-chan locks.Lease{locktest.Later(t, all[0], "r"), locktest.Later(t, all[1], "r")}
		l := Start(t, Again(t, cfgs[2]), start)
		for range waits {
			select {
			case lease := <-waits[0]:
				locktest.Release(t, lease)
			case lease := <-waits[1]:
				locktest.Release(t, lease)
			}
		}
		locktest.Acquire(t, l, "r")
	})
}

// Options tests what each spec means, with all options; "" if it is refused.
func Options[O fmt.Stringer](t *testing.T, parse func(locks.Spec) (O, error), specs map[string]string) {
	t.Helper()
	for text, want := range specs {
		spec, err := locks.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		switch o, err := parse(spec); {
		case want == "" && !errors.Is(err, locks.ErrInvalid):
			t.Errorf("%s: want ErrInvalid, got %v", text, err)
		case want != "" && (err != nil || o.String() != want):
			t.Errorf("%s: want %s, got %s, %v", text, want, o, err)
		}
	}
}

// ManyNames takes so many resources that most of them are forgotten and come back,
// with a few that all want, and checks that each has one holder at a time.
func ManyNames[L Peer](tb testing.TB, all []L) {
	tb.Helper()
	Contend(locktest.Within(tb), tb, all, &Work{Callers: 6, Rounds: 150, Names: 3000, Hot: 4})
}

// Work is what the callers of all peers do at once: each takes and releases one name after
// the other.
type Work struct {
	Callers, Rounds int // callers of each peer, and how often each tries
	Names           int
	Hot             int           // every other time it is one of so few; 0: of all
	Patience        time.Duration // the longest wait, the others are drawn; 0: until it is granted
	Held            atomic.Int64  // how often anything was held
}

// Contend has all callers work until ctx ends, and checks that each name has one holder at a
// time.
func Contend[L Peer](ctx context.Context, tb testing.TB, all []L, work *Work) {
	tb.Helper()
	inside := make([]atomic.Int64, work.Names)
	once := func(l L, name int, rand *rand.Rand) {
		wait, cancel := context.WithCancel(ctx)
		if work.Patience > 0 {
			wait, cancel = context.WithTimeout(ctx, time.Duration(rand.Int64N(int64(work.Patience))))
		}
		defer cancel()
		lease, err := l.Acquire(wait, strconv.Itoa(name))
		if err != nil {
			if work.Patience == 0 {
				tb.Error(err)
			}
			return
		}
		work.Held.Add(1)
		if n := inside[name].Add(1); n != 1 {
			tb.Errorf("%d holders of resource %d", n, name)
		}
		runtime.Gosched() // lets an intruder in
		inside[name].Add(-1)
		if err := lease.Release(context.WithoutCancel(ctx)); err != nil {
			tb.Error(err)
		}
	}
	var running sync.WaitGroup
	for i, l := range all {
		for j := range work.Callers {
			rand := seed.Seed(i).Child(strconv.Itoa(j)).Rand()
			running.Go(func() {
				for k := 0; k < work.Rounds && ctx.Err() == nil; k++ {
					name := rand.IntN(work.Names)
					if k%2 == 0 && work.Hot > 0 {
						name %= work.Hot
					}
					once(l, name, rand)
				}
			})
		}
	}
	running.Wait()
}
