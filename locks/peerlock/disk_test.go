package peerlock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock"
	"locklab/verify/peertest"
)

// slowDisk is one whose syncs can be held up, or fail.
type slowDisk struct {
	held    atomic.Pointer[chan struct{}] // nil: not held up
	err     atomic.Pointer[error]
	entered chan struct{} // gets one when a sync is held up
}

func newSlowDisk() *slowDisk { return &slowDisk{entered: make(chan struct{}, 10)} }

func (d *slowDisk) sync(f *os.File) error {
	if wait := d.held.Load(); wait != nil {
		d.entered <- struct{}{}
		<-*wait
	}
	if err := d.err.Load(); err != nil {
		return *err
	}
	return f.Sync()
}

// hold holds up all syncs until what it returns is called.
func (d *slowDisk) hold() (leave func()) {
	wait := make(chan struct{})
	d.held.Store(&wait)
	return func() {
		d.held.Store(nil)
		close(wait)
	}
}

// onSlowDisks is n peers of a new cluster that keep their votes in files.
func onSlowDisks(t *testing.T, n int) (cfgs []multiphase.Config, disks []*slowDisk) {
	t.Helper()
	cfgs = peertest.Configs(t, n, locktest.Options(t, multiphase.ParseOptions, "multiphase:quorum,ttl=1m"))
	dir := t.TempDir()
	for i := range cfgs {
		disks = append(disks, newSlowDisk())
		cfgs[i].StateFile, cfgs[i].Founding = filepath.Join(dir, cfgs[i].Self.ID), true
		peerlock.SetSync(&cfgs[i], disks[i].sync)
	}
	return cfgs, disks
}

// TestTokensGrowThoughNamesAreForgotten takes more names than a peer keeps, and starts it again
// with its file. The tokens of none go back.
func TestTokensGrowThoughNamesAreForgotten(t *testing.T) {
	cfgs, _ := onSlowDisks(t, 1)
	peerlock.SetSync(&cfgs[0], func(*os.File) error { return nil }) // no power cut here
	l := peertest.StartAll(t, cfgs, multiphase.New)[0]
	last := map[string]locks.Token{}
	grant := func(name string) {
		t.Helper()
		lease := locktest.Acquire(t, l, name)
		token, _ := lease.Token()
		if token <= last[name] {
			t.Fatalf("%q: token %d after %d", name, token, last[name])
		}
		last[name] = token
		locktest.Release(t, lease)
	}
	for range 10 {
		grant("forgotten")
	}
	for i := range 6000 { // more than 256 in each shard
		grant(fmt.Sprint(i))
	}
	grant("forgotten")
	must.Do(t, l.Close())
	l = peertest.Start(t, peertest.Again(t, cfgs[0]), multiphase.New)
	for name := range last {
		grant(name)
	}
}

// TestVoteWaitsForTheDisk holds up the disk of one peer: of who asks, then of who must
// vote. Nobody may be told that it holds before the vote is on disk.
func TestVoteWaitsForTheDisk(t *testing.T) {
	for _, c := range []struct {
		what            string
		peers, at, slow int
	}{{"its own, and nobody else's", 1, 0, 0}, {"its own", 2, 0, 0}, {"that of the other", 2, 0, 1}, {"that of the other, of lower rank", 2, 1, 0}} {
		t.Run(c.what, func(t *testing.T) {
			cfgs, disks := onSlowDisks(t, c.peers)
			all, ctx := peertest.StartAll(t, cfgs, multiphase.New), locktest.Within(t)
			leave := disks[c.slow].hold()
			type result struct {
				lease locks.Lease
				err   error
			}
			got := make(chan result, 1)
			go func() {
				lease, err := all[c.at].Acquire(ctx, "x")
				got <- result{lease, err}
			}()
			hasty, stop := context.WithTimeout(ctx, 50*time.Millisecond)
			defer stop()
			select {
			case r := <-got:
				leave()
				t.Fatalf("told to hold while a vote is not on disk: %v", r.err)
			case <-hasty.Done():
			}
			leave()
			r := <-got
			if r.err != nil {
				t.Fatal(r.err)
			}
			if err := r.lease.Release(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestGivesUpBeforeTheDiskIsDone leaves while the hold waits for the disk, and asks again.
func TestGivesUpBeforeTheDiskIsDone(t *testing.T) {
	cfgs, disks := onSlowDisks(t, 1)
	l, ctx := peertest.StartAll(t, cfgs, multiphase.New)[0], locktest.Within(t)
	for range 3 {
		leave := disks[0].hold()
		hasty, stop := context.WithTimeout(ctx, 10*time.Millisecond)
		_, err := l.Acquire(hasty, "x")
		stop()
		leave()
		if !errors.Is(err, locks.ErrNotAcquired) {
			t.Fatalf("want ErrNotAcquired while the vote is not on disk, got %v", err)
		}
		lease, err := l.Acquire(ctx, "x")
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(ctx); err != nil {
			t.Error(err)
		}
	}
}

// TestDiskThatFailsEndsThePeer checks that nobody is told anything that is not on disk.
func TestDiskThatFailsEndsThePeer(t *testing.T) {
	cfgs, disks := onSlowDisks(t, 1)
	l, ctx := peertest.StartAll(t, cfgs, multiphase.New)[0], locktest.Within(t)
	held, err := l.Acquire(ctx, "held")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	disks[0].err.Store(&broken)
	if _, err := l.Acquire(ctx, "x"); !errors.Is(err, locks.ErrClosed) {
		t.Errorf("want ErrClosed, got %v", err)
	}
	select {
	case <-held.Lost():
	case <-ctx.Done():
		t.Error("what was held is never lost")
	}
	select {
	case err := <-l.Failed():
		if !errors.Is(err, broken) {
			t.Errorf("failed of %v", err)
		}
	case <-ctx.Done():
		t.Error("it never says that it has failed")
	}
}

// TestDiskOutlastsTheLease: a hold whose lease is over when the disk is done is not told;
// the peer asks again.
func TestDiskOutlastsTheLease(t *testing.T) {
	cfgs, disks := onSlowDisks(t, 1)
	stopped := &late{Clock: clock.System()}
	cfgs[0].Clock = stopped
	l := peertest.StartAll(t, cfgs, multiphase.New)[0]
	inTime := locktest.Acquire(t, l, "in time")
	leave := disks[0].hold()
	got := locktest.Later(t, l, "late")
	<-disks[0].entered
	stopped.by.Store(int64(2 * cfgs[0].Options.Quorum.TTL))
	leave()
	first, _ := inTime.Token()
	if lease := <-got; lease != nil {
		if second, _ := lease.Token(); second <= first {
			t.Errorf("it holds by the first round, with token %d, whose lease is over", second)
		}
	}
}
