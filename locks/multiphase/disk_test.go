package multiphase_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/internal/testfile"
	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock/journal"
	"locklab/verify/peertest"
)

// onDisk is n peers of a new cluster that keep their votes in files.
func onDisk(tb testing.TB, n int, ttl time.Duration) []multiphase.Config {
	tb.Helper()
	options := quorum(ttl)
	options.Quorum.Rules.Disk = true
	cfgs := peertest.Configs(tb, n, options)
	dir := tb.TempDir()
	for i := range cfgs {
		cfgs[i].StateFile, cfgs[i].Founding = filepath.Join(dir, cfgs[i].ID), true
	}
	return cfgs
}

func TestQuorumOnDiskConforms(t *testing.T) {
	const ttl = 4 * time.Second
	leases := &locktest.Leases{Time: ttl, Margin: 2 * ttl, Clock: locktest.NewClock()}
	locktest.Run(t, locktest.Subject{
		CloseFreesWithin: 3 * ttl,
		Leases:           leases,
		New: func(tb testing.TB) []locks.Locker {
			cfgs := onDisk(tb, 3, ttl)
			cfgs[0].Clock = leases.Clock
			return peertest.Lockers(peertest.StartAll(tb, cfgs, multiphase.New))
		},
	})
}

func TestQuorumOnDiskManyNames(t *testing.T) {
	peertest.ManyNames(t, peertest.StartAll(t, onDisk(t, 3, time.Minute), multiphase.New))
}

// TestPowerCut ends all three peers at once, of which one never comes back. The others go
// on, and tokens grow.
func TestPowerCut(t *testing.T) {
	cfgs := onDisk(t, 3, 300*time.Millisecond)
	all := peertest.StartAll(t, cfgs, multiphase.New)
	take := growing(t)
	for range 20 {
		take(all[2])
	}
	locktest.Acquire(t, all[2], "held by who never comes back")
	for i := range all {
		_ = all[i].Close()
	}
	var left []*multiphase.Locker
	for _, cfg := range cfgs[:2] {
		left = append(left, peertest.Start(t, peertest.Again(t, cfg), multiphase.New))
	}
	for _, l := range left {
		take(l)
		locktest.Release(t, locktest.Acquire(t, l, "held by who never comes back"))
	}
}

// TestVoteOutlivesProcess restarts the voters one after the other, so that each has the
// other to vote with, while the third holds behind a cut: nobody else may hold.
func TestVoteOutlivesProcess(t *testing.T) {
	cfgs := onDisk(t, 3, time.Minute)
	cut := cutOff(t, cfgs)
	all := peertest.StartAll(t, cfgs, multiphase.New)
	held := locktest.Acquire(t, all[2], "x")
	cut(true)
	for i := range 2 {
		_ = all[i].Close()
		all[i] = peertest.Start(t, peertest.Again(t, cfgs[i]), multiphase.New)
		peertest.AwaitLink(t, all[i], cfgs[1-i].ID, true)
		locktest.Release(t, locktest.Acquire(t, all[i], "y")) // they can do without the third
		if err := locktest.Refused(t, all[i], "x", 100*time.Millisecond); !errors.Is(err, locks.ErrNotAcquired) {
			t.Errorf("after a restart: want ErrNotAcquired, got %v", err)
		}
	}
	locktest.Release(t, held)
	cut(false)
	locktest.Release(t, locktest.Acquire(t, all[0], "x"))
}

func TestStateFile(t *testing.T) {
	cfg := onDisk(t, 1, 100*time.Millisecond)[0]
	cfg.Founding = false
	tryNew := func(change func(*multiphase.Config)) error {
		cfg := peertest.Again(t, cfg)
		if change != nil {
			change(&cfg)
		}
		l, err := multiphase.New(cfg)
		if err == nil {
			locktest.Release(t, locktest.Acquire(t, l, "x"))
			return l.Close()
		}
		if _, err := cfg.Listener.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the listener was left open: %v", err)
		}
		return err
	}
	_ = cfg.Listener.Close()
	names := func(err error, want error) {
		t.Helper()
		if !errors.Is(err, want) || !strings.Contains(err.Error(), cfg.StateFile) {
			t.Errorf("want %v and the name of the file, got %v", want, err)
		}
	}
	names(tryNew(nil), fs.ErrNotExist)
	if err := tryNew(func(c *multiphase.Config) { c.StateFile = "" }); !errors.Is(err, locks.ErrInvalid) || !strings.Contains(err.Error(), "StateFile") {
		t.Errorf("want ErrInvalid and the name of the field, got %v", err)
	}
	for _, start := range []func(*multiphase.Config){
		func(c *multiphase.Config) { c.Lost = true }, // recovers
		nil,
		func(c *multiphase.Config) { c.Founding = true }, // says too much; the file is there all the same
	} {
		if err := tryNew(start); err != nil {
			t.Error(err)
		}
	}
	names(tryNew(func(c *multiphase.Config) { c.Cluster = "another" }), journal.ErrCorrupt)
	file := testfile.Read(t, cfg.StateFile)
	file[len(file)/2] ^= 1
	testfile.Write(t, cfg.StateFile, file)
	names(tryNew(func(c *multiphase.Config) { c.Lost = true }), journal.ErrCorrupt)
}

// TestOneProcessForAFile starts a peer twice: while it takes part, and while it recovers
// and there is no file yet. The second would give its own vote anew, and two would hold.
func TestOneProcessForAFile(t *testing.T) {
	cfgs := onDisk(t, 3, time.Minute)
	first := cfgs[2]
	for _, recovers := range []bool{false, true} {
		first.Founding, first.Lost = !recovers, recovers
		l, err := multiphase.New(first)
		if err != nil {
			t.Fatal(err)
		}
		second := first
		second.Listener = peertest.Listen(t, "127.0.0.1:0")
		if twice, err := multiphase.New(second); !errors.Is(err, journal.ErrInUse) || !strings.Contains(err.Error(), first.StateFile) {
			t.Errorf("recovers: %v: want ErrInUse and the name of the file, got %v", recovers, err)
			if err == nil {
				_ = twice.Close()
			}
		}
		_ = l.Close()
		if err := os.Rename(first.StateFile, first.StateFile+" is lost"); err != nil && !recovers {
			t.Fatal(err)
		}
		first = peertest.Again(t, first)
	}
	_ = first.Listener.Close()
	for _, cfg := range cfgs[:2] {
		_ = cfg.Listener.Close()
	}
}

// TestWayOut has two peers that have lost their memory and never see the third again.
// They can't recover, unless they are told to do without.
func TestWayOut(t *testing.T) {
	const floor = 1 << 40
	for _, unaided := range []bool{false, true} {
		options := quorum(200 * time.Millisecond)
		options.Quorum.Rules.Unaided, options.Quorum.Rules.Floor = unaided, floor
		cfgs := peertest.Configs(t, 3, options)
		_ = cfgs[2].Listener.Close()
		var all []*multiphase.Locker
		told := &counting{text: "tokens may go back"}
		for _, cfg := range cfgs[:2] {
			cfg.Log = slog.New(told)
			all = append(all, peertest.Start(t, cfg, multiphase.New))
		}
		peertest.AwaitLink(t, all[0], "p1", true)
		if n := told.seen.Load(); (n > 0) != unaided {
			t.Errorf("unaided: %v: the log says %d times that tokens may go back", unaided, n)
		}
		if !unaided {
			ctx, cancel := context.WithTimeout(t.Context(), 5*options.Quorum.TTL)
			if err := all[0].Ready(ctx); !errors.Is(err, locks.ErrUnavailable) {
				t.Errorf("want ErrUnavailable, got %v", err)
			}
			cancel()
			continue
		}
		for _, l := range all {
			lease := locktest.Acquire(t, l, "x")
			if got := token(t, lease); got <= floor {
				t.Errorf("token %d is not above the floor", got)
			}
			locktest.Release(t, lease)
		}
	}
}
