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

// NeedsEveryPeer tests a lock that nobody gets without every peer. An acquisition takes so
// many messages for each other peer.
func NeedsEveryPeer[O any, L Peer](t *testing.T, options O, start func(peerlock.Config[O]) (L, error), messages int) {
	t.Run("conforms", func(t *testing.T) {
		locktest.Run(t, locktest.Subject{New: func(tb testing.TB) []locks.Locker {
			return Supervised(tb, Configs(tb, 3, options), start)
		}})
	})
	t.Run("messages", func(t *testing.T) {
		for _, peers := range []int{1, 2, 3, 5} {
			CountMessages(t, StartAll(t, Configs(t, peers, options), start), messages)
		}
	})
	t.Run("many names", func(t *testing.T) { ManyNames(t, StartAll(t, Configs(t, 3, options), start)) })
	t.Run("a dead peer blocks", func(t *testing.T) { DeadPeerBlocks(t, options, start) })
	t.Run("a reconnection resumes", func(t *testing.T) { ReconnectResumes(t, options, start) })
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

// CountMessages takes a free lock often and checks that an acquisition, with its
// release, costs perPeer messages for each other peer, no more and no less.
func CountMessages[L Peer](tb testing.TB, all []L, perPeer int) {
	tb.Helper()
	const rounds = 10
	for range rounds {
		for i, l := range all {
			// Each takes another resource, since a release may still be under way.
			locktest.Release(tb, locktest.Acquire(tb, l, fmt.Sprintf("counted-%d", i)))
		}
	}
	want := uint64(rounds * len(all) * perPeer * (len(all) - 1))
	sum := func() (n uint64) {
		for _, l := range all {
			n += l.MessagesSent()
		}
		return n
	}
	locktest.Eventually(tb, "all answers are sent", func() bool { return sum() >= want })
	if got := sum(); got != want {
		tb.Errorf("%d acquisitions among %d peers took %d messages, want %d", rounds*len(all), len(all), got, want)
	}
}

// DeadPeerBlocks checks that nobody gets the lock while the last of three peers is
// dead, that the error says so, and that a wait goes on when it has come back without
// its memory.
func DeadPeerBlocks[O any, L Peer](t *testing.T, options O, start func(peerlock.Config[O]) (L, error)) {
	t.Helper()
	cfgs := Configs(t, 3, options)
	all := StartAll(t, cfgs, start)
	locktest.Acquire(t, all[2], "r") // it dies with the lock in its hands
	_ = all[2].Close()
	for _, l := range all[:2] {
		AwaitLink(t, l, "p2", false)
		if err := locktest.Refused(t, l, "r", 100*time.Millisecond); !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "p2") {
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
}

// DeadPeerIsLeftOut checks that the others go on when one of three peers is dead.
func DeadPeerIsLeftOut[O any, L Peer](t *testing.T, options O, start func(peerlock.Config[O]) (L, error)) {
	t.Helper()
	all := StartAll(t, Configs(t, 3, options), start)
	locktest.Acquire(t, all[2], "r")
	_ = all[2].Close()
	for _, l := range all[:2] {
		locktest.Release(t, locktest.Acquire(t, l, "r"))
	}
}

// ReconnectResumes breaks the link of peers 0 and 1 while 0 holds and 1 waits, checks
// that nobody else gets the lock meanwhile, and that 1 gets it in the end.
func ReconnectResumes[O any, L Peer](t *testing.T, options O, start func(peerlock.Config[O]) (L, error)) {
	t.Helper()
	cfgs := Configs(t, 3, options)
	link := Cuttable(t, cfgs)[[2]int{0, 1}]
	all := StartAll(t, cfgs, start)
	for _, released := range []bool{false, true} { // while the link is down
		lease := locktest.Acquire(t, all[0], "r")
		next := locktest.Later(t, all[1], "r")
		link.Cut(true)
		AwaitLink(t, all[0], "p1", false)
		AwaitLink(t, all[1], "p0", false)
		for _, l := range all[1:] {
			_ = locktest.Refused(t, l, "r", 100*time.Millisecond)
		}
		if released {
			locktest.Release(t, lease)
		}
		link.Cut(false)
		AwaitLink(t, all[0], "p1", true)
		if !released {
			locktest.Release(t, lease)
		}
		locktest.Release(t, <-next)
	}
}

// ManyNames takes so many resources that most of them are forgotten and come back,
// with a few that everybody wants, and checks that each has one holder at a time.
func ManyNames[L Peer](tb testing.TB, all []L) {
	tb.Helper()
	Contend(locktest.Within(tb), tb, all, &Work{Callers: 6, Rounds: 150, Names: 3000, Hot: 4})
}

// Work is what the callers of all peers do at once: each takes and releases one name after
// the other.
type Work struct {
	Callers, Rounds int // callers of each peer, and how often each tries
	Names           int
	Hot             int                                 // every other time it is one of so few; 0: of all
	Patience        func(rand *rand.Rand) time.Duration // nil: an hour
	Inside          func(rand *rand.Rand)               // what a holder does; nil: lets an intruder in
	Refused         func(err error)                     // nil: nobody may be
	Held            atomic.Int64                        // how often anybody held
}

// Contend has all callers work until ctx ends, and checks that each name has one holder at a
// time.
func Contend[L Peer](ctx context.Context, tb testing.TB, all []L, work *Work) {
	tb.Helper()
	inside := make([]atomic.Int64, work.Names)
	once := func(l L, name int, rand *rand.Rand) {
		patience := time.Hour
		if work.Patience != nil {
			patience = work.Patience(rand)
		}
		wait, cancel := context.WithTimeout(ctx, patience)
		lease, err := l.Acquire(wait, strconv.Itoa(name))
		cancel()
		if err != nil {
			if work.Refused == nil {
				tb.Error(err)
			} else {
				work.Refused(err)
			}
			return
		}
		work.Held.Add(1)
		if n := inside[name].Add(1); n != 1 {
			tb.Errorf("%d holders of resource %d", n, name)
		}
		if work.Inside == nil {
			runtime.Gosched()
		} else {
			work.Inside(rand)
		}
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
