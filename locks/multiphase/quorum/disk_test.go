package quorum

import (
	"errors"
	"testing"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/peertest"
)

// TestExploreDisk crashes a peer that keeps its votes on disk, at every moment. It is
// safe without any recovery, and tokens grow. It is not if it forgets something.
func TestExploreDisk(t *testing.T) {
	one := explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Crashes: 1, Mends: 1}
	both := explore.Scope{Peers: 2, Requests: []int{2, 1}, Crashes: 2, Mends: 2}
	for _, m := range []struct {
		forgets, want string
		sc            explore.Scope
		load          func(d *stored)
	}{
		{"the vote", explore.TwoHold, one, func(d *stored) { d.vote = request{} }},
		{"all", explore.TokenBack, both, func(d *stored) { *d = stored{} }},
	} {
		alg := Algorithm()
		peertest.Explore(t, "", alg, m.sc)
		alg.Mutant.LoadStored = loads(m.load)
		peertest.Explore(t, m.want, alg, m.sc)
	}
}

// TestForgetsOnTheWay: what else is stored matters so late that no exploration gets there.
func TestForgetsOnTheWay(t *testing.T) {
	voterCrashes := explore.Scope{Peers: 3, Requests: []int{3, 0, 1}, GiveUps: 1, Crashes: 1, Mends: 2}
	lenderCrashes := explore.Scope{Peers: 5, Requests: []int{1, 3, 0, 0, 0}, GiveUps: 2, Crashes: 1, Mends: 4}
	for _, m := range []struct {
		rule   string
		mutate peercore.Mutant[State, Message]
		sc     explore.Scope
		way    []string
	}{
		{
			"F is stored: a vote for a token below it would be given", peercore.Mutant[State, Message]{AppendStored: func(s *State, b []byte) []byte {
				d := s.disk
				d.floor = 0
				return peercore.Encode(b, d.code)
			}}, voterCrashes, []string{
				"2: requests", // and none of its messages gets through
				"0: requests", "1 <- 0: MyLock(1.0)", "0 <- 1: YourLock(1.0)", "0: releases", "1 <- 0: LockReset(used)",
				"0: requests", "1 <- 0: MyLock(2.0)", "0 <- 1: YourLock(2.0)", "0: releases", "1 <- 0: LockReset(used)",
				"0: requests", "1 <- 0: MyLock(3.0)", "1: crashes, memory lost",
				"0-1: new connection", "0 <- 1: loses 1", "0 <- 1: connects to 1", "1 <- 0: connects to 0",
				"1 <- 0: MyLock(3.0)", "0: gives up", "1 <- 0: LockReset(unused)",
				"1-2: new connection", "2 <- 1: loses 1", "2 <- 1: connects to 1", "1 <- 2: connects to 2",
				"1 <- 2: MyLock(1.2)", "2 <- 1: LockReset(used)", "2 <- 1: YourLock(1.2)",
			},
		},
		{
			"the highest token that was seen is loaded: an own one would be used again", peercore.Mutant[State, Message]{
				LoadStored: loads(func(d *stored) { d.seen = d.vote.token }),
			}, lenderCrashes, []string{
				"1: requests", "1: gives up", "1: requests",
				"0: requests", "1 <- 0: MyLock(1.0)", "0: gives up", // 1 has lent its vote
				"2 <- 1: MyLock(1.1)", "2 <- 1: LockReset(unused)", "2 <- 1: MyLock(2.1)", "1 <- 2: YourLock(1.1)", "1 <- 2: YourLock(2.1)",
				"3 <- 1: MyLock(1.1)", "3 <- 1: LockReset(unused)", "3 <- 1: MyLock(2.1)", "1 <- 3: YourLock(1.1)", "1 <- 3: YourLock(2.1)",
				"4 <- 1: MyLock(1.1)", "4 <- 1: LockReset(unused)", "4 <- 1: MyLock(2.1)", "1 <- 4: YourLock(1.1)", "1 <- 4: YourLock(2.1)",
				"1: crashes, memory lost", "1: requests", "1: vote over",
				"0-1: new connection", "1-2: new connection", "1-3: new connection", "1-4: new connection",
				"1 <- 0: connects to 0", "1 <- 2: connects to 2", "1 <- 3: connects to 3", "1 <- 4: connects to 4",
				"3 <- 1: loses 1", "3 <- 1: connects to 1", "3 <- 1: MyLock(2.1)", "1 <- 3: LockReset(used)", "1 <- 3: YourLock(2.1)",
				"4 <- 1: loses 1", "4 <- 1: connects to 1", "4 <- 1: MyLock(2.1)", "1 <- 4: LockReset(used)", "1 <- 4: YourLock(2.1)",
			},
		},
	} {
		t.Run(m.rule, func(t *testing.T) {
			alg := Algorithm()
			if v := peertest.Follow(t, alg, m.sc, m.way); v != "" {
				t.Errorf("as it is: %s", v)
			}
			alg.Mutant = m.mutate
			if v := peertest.Follow(t, alg, m.sc, m.way); v != explore.TokenBack {
				t.Errorf("without it: want %q, got %q", explore.TokenBack, v)
			}
		})
	}
}

// loads reads a vote of which something is then forgotten.
func loads(forget func(d *stored)) func(s *State, b []byte) error {
	return func(s *State, b []byte) error {
		err := s.LoadStored(b)
		read := State{cfg: s.cfg}
		if err := read.LoadStored(b); err != nil {
			return err
		}
		forget(&read.disk)
		*s = State{cfg: s.cfg, disk: read.disk}
		s.restart()
		return err
	}
}

// TestStoreComesFirst checks that no vote is given, to others or to oneself, before it is
// asked to be kept, and that a resource with a given vote is not forgotten.
func TestStoreComesFirst(t *testing.T) {
	alg := Algorithm()
	s := alg.New(1, peercore.Others(3, 1))
	stored := false
	step := func(ev Event) {
		t.Helper()
		for _, e := range s.Step(ev, nil) {
			switch {
			case e.Kind == peercore.Store:
				stored = true
			case e.Kind == peercore.Send && (e.Msg.Kind == MyLock || e.Msg.Kind == YourLock) && !stored:
				t.Errorf("%v is sent before its vote is kept", e.Msg)
			}
		}
		if !stored {
			t.Errorf("after event %v nothing is to be kept", ev.Kind)
		}
		again := alg.New(1, peercore.Others(3, 1))
		if err := again.LoadStored(s.AppendStored(nil)); err != nil {
			t.Fatal(err)
		}
		if again.Voted() != s.Voted() && again.floor < s.Voted() {
			t.Errorf("a vote for %d comes back as %d", s.Voted(), again.Voted())
		}
		stored = false
	}
	s.Step(Event{Kind: peercore.Connect, Peer: 0}, nil)
	s.Step(Event{Kind: peercore.Connect, Peer: 2}, nil)
	step(Event{Kind: peercore.Request})
	step(Event{Kind: peercore.Receive, Peer: 0, Msg: Message{Kind: MyLock, Token: Token(1, 0)}}) // it ranks higher
	if s.Step(Event{Kind: peercore.Leave}, nil); s.Idle() {
		t.Error("a vote that is given is forgotten")
	}
}

func FuzzLoadStored(f *testing.F) {
	f.Add([]byte{})
	vote := stored{vote: request{from: 2, token: Token(7, 2)}, floor: Token(6, 0), seen: Token(9, 1)}
	f.Add(peercore.Encode(nil, vote.code))
	alg := Algorithm()
	f.Fuzz(func(t *testing.T, b []byte) {
		s := alg.New(1, peercore.Others(3, 1))
		if err := s.LoadStored(b); err != nil {
			if !errors.Is(err, ErrStored) {
				t.Errorf("%x: want ErrStored, got %v", b, err)
			}
			return
		}
		again := alg.New(1, peercore.Others(3, 1))
		if err := again.LoadStored(s.AppendStored(nil)); err != nil || string(peercore.Encode(nil, again.Code)) != string(peercore.Encode(nil, s.Code)) {
			t.Errorf("%x: what was read can't be written and read again: %v", b, err)
		}
	})
}
