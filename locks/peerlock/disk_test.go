package peerlock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/locks/multiphase/quorum"
	"locklab/locks/peerlock"
	"locklab/verify/peertest"
)

// slowDisk is one whose syncs can be held up, or fail.
type slowDisk struct {
	held atomic.Pointer[chan struct{}] // nil: not held up
	err  atomic.Pointer[error]
}

func (d *slowDisk) sync(f *os.File) error {
	if wait := d.held.Load(); wait != nil {
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

// onDisk is n peers of a new cluster that keep their votes in files.
func onDisk(t *testing.T, n int) []multiphase.Config {
	t.Helper()
	options := multiphase.DefaultQuorum()
	options.Quorum.TTL, options.Quorum.Rules.Disk = time.Minute, true
	cfgs := peertest.Configs(t, n, options)
	dir := t.TempDir()
	for i := range cfgs {
		cfgs[i].StateFile, cfgs[i].Founding = filepath.Join(dir, cfgs[i].ID), true
	}
	return cfgs
}

// onSlowDisks is n peers on disk.
func onSlowDisks(t *testing.T, n int) (all []*multiphase.Locker, disks []*slowDisk) {
	t.Helper()
	cfgs := onDisk(t, n)
	for i := range cfgs {
		disks = append(disks, &slowDisk{})
		peerlock.SetSync(&cfgs[i], disks[i].sync)
	}
	return peertest.StartAll(t, cfgs, multiphase.New), disks
}

// TestTokensGrowAfterCompaction has one shard forget the token of a name, and remember
// those of others; writes the file anew, and starts another process. No token goes back.
func TestTokensGrowAfterCompaction(t *testing.T) {
	cfg := onDisk(t, 1)[0]
	peerlock.SetSync(&cfg, func(*os.File) error { return nil }) // no power cut here
	start := func() (*peerlock.Locker[quorum.State, quorum.Message, *quorum.State], error) {
		return peerlock.New[quorum.State, quorum.Message](cfg, peerlock.Protocol[quorum.State, quorum.Message]{
			Algorithm: quorum.Options{Disk: true}.Algorithm(), Lease: peerlock.Lease{TTL: time.Minute},
		})
	}
	l, err := start()
	if err != nil {
		t.Fatal(err)
	}
	ctx := locktest.Within(t)
	last := map[string]locks.Token{}
	grant := func(name string, times int) {
		t.Helper()
		for range times {
			lease, err := l.Acquire(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			token, _ := lease.Token()
			if token <= last[name] {
				t.Fatalf("%q: token %d after %d", name, token, last[name])
			}
			last[name] = token
			if err := lease.Release(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	number := 0
	fresh := func() (name string) { // of the shard that writes first what names start above
		for name = fmt.Sprint(number); !l.InFirstShard(name); name = fmt.Sprint(number) {
			number++
		}
		number++
		return name
	}
	// Each of the three is higher than those before, which so can't cover for it.
	grant(fresh(), 10) // forgotten
	for range peerlock.Forgets {
		grant(fresh(), 1)
	}
	grant(fresh(), 20) // nobody wants it, its token is remembered
	for range peerlock.Lates {
		grant(fresh(), 1)
	}
	grant(fresh(), 30) // still there
	if err := l.Compact(); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	cfg.Founding, cfg.Listener = false, peertest.Listen(t, "127.0.0.1:0")
	if l, err = start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for name := range last {
		grant(name, 1)
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
			all, disks := onSlowDisks(t, c.peers)
			ctx := locktest.Within(t)
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
	all, disks := onSlowDisks(t, 1)
	ctx := locktest.Within(t)
	for range 3 {
		leave := disks[0].hold()
		hasty, stop := context.WithTimeout(ctx, 10*time.Millisecond)
		_, err := all[0].Acquire(hasty, "x")
		stop()
		leave()
		if !errors.Is(err, locks.ErrNotAcquired) {
			t.Fatalf("want ErrNotAcquired while the vote is not on disk, got %v", err)
		}
		lease, err := all[0].Acquire(ctx, "x")
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
	all, disks := onSlowDisks(t, 1)
	ctx := locktest.Within(t)
	held, err := all[0].Acquire(ctx, "held")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	disks[0].err.Store(&broken)
	if _, err := all[0].Acquire(ctx, "x"); !errors.Is(err, locks.ErrClosed) {
		t.Errorf("want ErrClosed, got %v", err)
	}
	select {
	case <-held.Lost():
	case <-ctx.Done():
		t.Error("what was held is never lost")
	}
	select {
	case err := <-all[0].Failed():
		if !errors.Is(err, broken) {
			t.Errorf("failed of %v", err)
		}
	case <-ctx.Done():
		t.Error("it never says that it has failed")
	}
}

// TestCloseWhileRecovering: a peer that is closed while the file is made with which its
// recovery ends leaves nothing open.
func TestCloseWhileRecovering(t *testing.T) {
	cfg := onDisk(t, 1)[0]
	cfg.Founding, cfg.Lost = false, true
	cfg.Options.Quorum.TTL = 50 * time.Millisecond
	disk, syncs := &slowDisk{}, make(chan struct{})
	leave := disk.hold()
	var once sync.Once
	peerlock.SetSync(&cfg, func(f *os.File) error {
		once.Do(func() { close(syncs) })
		return disk.sync(f)
	})
	l, err := multiphase.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	<-syncs
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = l.Close()
	}()
	if err := l.Ready(t.Context()); !errors.Is(err, locks.ErrClosed) {
		t.Fatal(err)
	}
	leave()
	<-closed
	goleak.VerifyNone(t)
}

// TestDiskOutlastsTheLease: a hold whose lease is over when the disk is done is not told;
// the peer asks again.
func TestDiskOutlastsTheLease(t *testing.T) {
	cfg, disk, stopped := onDisk(t, 1)[0], &slowDisk{}, &late{Clock: clock.System()}
	cfg.Clock = stopped
	peerlock.SetSync(&cfg, disk.sync)
	l := peertest.StartAll(t, []multiphase.Config{cfg}, multiphase.New)[0]
	ctx := locktest.Within(t)
	inTime, err := l.Acquire(ctx, "in time")
	if err != nil {
		t.Fatal(err)
	}
	leave := disk.hold()
	got := make(chan locks.Lease, 1)
	go func() {
		lease, err := l.Acquire(ctx, "late")
		if err != nil {
			t.Error(err)
		}
		got <- lease
	}()
	locktest.Eventually(t, "somebody waits", func() bool { return l.Claims("late") == 1 })
	stopped.by.Store(int64(2 * cfg.Options.Quorum.TTL))
	leave()
	first, _ := inTime.Token()
	if lease := <-got; lease != nil {
		if second, _ := lease.Token(); second <= first {
			t.Errorf("it holds by the first round, with token %d, whose lease is over", second)
		}
	}
}
