package multiphase_test

import (
	"errors"
	"io/fs"
	"net"
	"strings"
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock/journal"
	"locklab/verify/peertest"
)

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
	var left []multiphase.Locker
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
		peertest.AwaitLink(t, all[i], cfgs[1-i].Self.ID, true)
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
	_ = cfg.Listener.Close()
	tryNew := func(change func(*multiphase.Config)) error {
		cfg := peertest.Again(t, cfg)
		change(&cfg)
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
	again := func(*multiphase.Config) {}
	if err := tryNew(func(c *multiphase.Config) { c.StateFile = "" }); !errors.Is(err, locks.ErrInvalid) || !strings.Contains(err.Error(), "StateFile") {
		t.Errorf("want ErrInvalid and the name of the field, got %v", err)
	}
	if err := tryNew(again); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "could vote twice") {
		t.Errorf("not founding and without its file: want ErrNotExist and why, got %v", err)
	}
	founding := func(c *multiphase.Config) { c.Founding = true } // the second time it says too much, and the file is there
	for _, start := range []func(*multiphase.Config){founding, again, founding} {
		must.Do(t, tryNew(start))
	}
	corrupt := func(err error) {
		t.Helper()
		if !errors.Is(err, journal.ErrCorrupt) || !strings.Contains(err.Error(), cfg.StateFile) {
			t.Errorf("want ErrCorrupt and the name of the file, got %v", err)
		}
	}
	corrupt(tryNew(func(c *multiphase.Config) { c.Cluster = "another" }))
	file := testfile.Read(t, cfg.StateFile)
	file[len(file)/2] ^= 1
	testfile.Write(t, cfg.StateFile, file)
	corrupt(tryNew(again))
}

// TestOneProcessForAFile starts a peer twice. The second would give its own vote anew, and two would hold.
func TestOneProcessForAFile(t *testing.T) {
	cfg := onDisk(t, 1, time.Minute)[0]
	peertest.Start(t, cfg, multiphase.New)
	cfg.Listener = peertest.Listen(t, "127.0.0.1:0")
	if _, err := multiphase.New(cfg); !errors.Is(err, journal.ErrInUse) || !strings.Contains(err.Error(), cfg.StateFile) {
		t.Errorf("want ErrInUse and the name of the file, got %v", err)
	}
}
