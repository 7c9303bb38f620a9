// Package locktest is the conformance suite for locks. It checks every [locks.Locker] against its
// real server: without faults and, if its leases expire, when a holder crashes.
//
//	func TestConformance(t *testing.T) {
//		locktest.Run(t, locktest.Subject{
//			New: func(tb testing.TB) []locks.Locker { ... three clients of one fresh service ... },
//		})
//	}
//
// Each check is a plain function that returns an error, so that the suite itself
// can be tested: deliberately broken locks must fail it.
package locktest

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
)

// Subject is the lock under test.
type Subject struct {
	// New starts a fresh lock service and returns its clients: at least one, better three.
	// It registers its own clean-up, which closes the clients, even those that a check has closed.
	New func(tb testing.TB) []locks.Locker
	// NoExclusion skips the checks of mutual exclusion, for locks that have none.
	NoExclusion bool
	// NeedsAll says that nothing is granted any more once a client is closed.
	NeedsAll bool
	// CloseFreesWithin bounds the wait of another client after Close of the holder's:
	// the lease time for locks that are freed by expiry. Zero means ten seconds.
	CloseFreesWithin time.Duration
	// Leases must be set for a lock whose leases expire (see locks.Lease.Expires).
	Leases *Leases
}

// deadline ends a check that hangs. It is far beyond what a slow machine needs.
const deadline = 60 * time.Second

// check is one rule of the suite.
type check struct {
	name      string
	exclusion bool // needs mutual exclusion
	run       func(context.Context, *trial)
}

// trial is one run of a check.
type trial struct {
	Subject
	clients []locks.Locker
	err     error // the first failure
}

// fail ends the check. It must be called in the check's own goroutine.
func (t *trial) fail(format string, args ...any) {
	t.err = fmt.Errorf(format, args...)
	runtime.Goexit()
}

func (t *trial) must(err error) {
	if err != nil {
		t.fail("%w", err)
	}
}

func (t *trial) first() locks.Locker { return t.clients[0] }
func (t *trial) last() locks.Locker  { return t.clients[len(t.clients)-1] }

func (t *trial) acquire(ctx context.Context, l locks.Locker, resource string) locks.Lease {
	lease, err := l.Acquire(ctx, resource)
	if err != nil {
		t.fail("acquire %.20q: %w", resource, err)
	}
	return lease
}

func (t *trial) release(ctx context.Context, lease locks.Lease) {
	if err := lease.Release(ctx); err != nil {
		t.fail("release: %w", err)
	}
}

func checks() []check {
	return []check{
		{"one holder at a time, across clients", true, exclusionAcrossClients},
		{"one holder at a time, within a client", true, exclusionWithinClient},
		{"resources are independent", false, independentResources},
		{"a release lets the next one in", true, handover},
		{"a release is idempotent", true, releaseTwice},
		{"a lease is not lost while held, nor by its release", false, lostStaysOpen},
		{"a wait ends with its context and leaves nothing behind", true, givingUp},
		{"a context that is done acquires nothing", false, doneContext},
		{"giving up at any moment never wedges the lock", true, churn},
		{"fencing tokens grow with every grant", true, tokensGrow},
		{"a bad resource name is refused", false, badNames},
		{"Close ends waits and frees what was held", true, closeFrees},
		{"a closed client refuses", false, closedRefuses},
		{"the lease of a crashed holder ends, and not before it says so", true, leaseEnds},
	}
}

// Run checks the subject.
func Run(t *testing.T, s Subject) {
	t.Helper()
	for _, c := range checks() {
		if c.exclusion && s.NoExclusion {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if err := c.guarded(s, s.New(t), deadline); err != nil {
				t.Error(err)
			}
		})
	}
}

// guarded runs the check and fails it at its deadline, so that a lock that ignores
// its context does not hang the suite.
func (c check) guarded(s Subject, clients []locks.Locker, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	t, done := &trial{Subject: s, clients: clients}, make(chan struct{})
	go func() {
		defer close(done)
		c.run(ctx, t)
	}()
	if _, ended := clock.Await(clock.System(), limit+limit/4, done); ended {
		return t.err
	}
	return fmt.Errorf("the check did not end within %v: the lock does not obey its context", limit)
}
