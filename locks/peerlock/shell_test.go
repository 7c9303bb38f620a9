package peerlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/internal/signals"
	"locklab/locks/lamport"
	"locklab/locks/locktest"
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/mesh"
	"locklab/locks/peerlock/peercore"
	"locklab/verify/peertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sleeper is a machine that pauses before it holds.
type sleeper struct {
	wants, holds bool
	wakes        uint64 // all that ever came; as a round, it survives forgetting
}

func (s *sleeper) Step(ev peercore.Event[int], out []peercore.Effect[int]) []peercore.Effect[int] {
	switch ev.Kind {
	case peercore.Request:
		s.wants = true
		return append(out, peercore.Effect[int]{Kind: peercore.Pause, Attempt: 2})
	case peercore.Wake:
		s.wakes++
		if s.wants && !s.holds {
			s.holds = true
			return append(out, peercore.Effect[int]{Kind: peercore.Hold})
		}
	case peercore.Leave:
		s.wants, s.holds = false, false
	case peercore.Receive, peercore.Connect, peercore.Disconnect, peercore.Expire:
	}
	return out
}

func (s *sleeper) Reset(_ *sleeper, round uint64) { *s = sleeper{wakes: round} }
func (s *sleeper) Round() uint64                  { return s.wakes }
func (s *sleeper) Idle() bool                     { return !s.wants }
func (s *sleeper) Bootstrapped() bool             { return true }

// TestPause checks that a pause takes a random time around its mean and that one that
// was replaced does not count.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const mean = time.Second
		l, err := peerlock.New(peerlock.Config[struct{}]{}, peerlock.Protocol[sleeper, int]{
			Algorithm: peercore.Algorithm[sleeper, int]{New: func(int, peercore.Set) sleeper { return sleeper{} }},
			Pause:     mean,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		var total time.Duration
		const times = 100
		for i := range times {
			start := time.Now()
			hasty, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if lease, err := l.Acquire(hasty, "r"); err == nil { // lucky
				_ = lease.Release(hasty)
			}
			cancel()
			lease, err := l.Acquire(t.Context(), fmt.Sprintf("r%d", i%2))
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(start)
			total += took
			if took > 8*mean+time.Millisecond {
				t.Errorf("a pause of mean %v took %v", 4*mean, took)
			}
			if err := lease.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := total / times; got < 2*mean || got > 6*mean {
			t.Errorf("a pause of mean %v took %v on average", 4*mean, got)
		}
	})
}

// rogue sends one payload as soon as it is connected.
type rogue struct {
	payload []byte
	gone    chan struct{}
}

func (r *rogue) Connected(link *mesh.Link)        { link.Send(r.payload) }
func (r *rogue) Receive(*mesh.Link, []byte) error { return nil }
func (r *rogue) Disconnected(*mesh.Link, error)   { signals.Wake(r.gone) }

func TestMalformedEndsTheLink(t *testing.T) {
	for _, payload := range []string{"\x00\x01\x00r", "\x01\x01", "\x01\x01\x00", "\x01\x01\x00" + strings.Repeat("x", 256), "\x7f\x01\x00r"} {
		cfgs := peertest.Configs(t, 2, lamport.Options{})
		l, err := lamport.New(cfgs[0])
		must.Do(t, err)
		r := &rogue{payload: []byte(payload), gone: make(chan struct{}, 1)}
		m, err := mesh.New(mesh.Config{
			Self: mesh.Peer{ID: "p1", Rank: 1}, Peers: cfgs[1].Peers, Cluster: cfgs[1].Cluster,
			Protocol: lamport.Options{}.String(), Listener: cfgs[1].Listener, Handler: r,
		})
		must.Do(t, err)
		select {
		case <-r.gone:
		case <-locktest.Within(t).Done():
			t.Errorf("%q: the link lives on", payload)
		}
		_ = m.Close()
		_ = l.Close()
	}
}
