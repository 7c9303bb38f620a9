package twophase

import (
	"testing"

	"pgregory.net/rapid"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/peertest"
)

func TestExplore(t *testing.T) {
	tests := []struct {
		name string
		want string
		sc   explore.Scope
	}{
		{"two peers, without end", "", explore.Scope{Peers: 2, Requests: []int{explore.Any, explore.Any}}},
		{"two peers, without end, giving up", "", explore.Scope{Peers: 2, Requests: []int{explore.Any, explore.Any}, GiveUps: 2}},
		{"no fault", "", explore.Scope{Peers: 3, Requests: []int{1, 1, 0}}},
		{"giving up at any moment", "", explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, GiveUps: 1}},
		{"a link is cut and mended", "", explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1, Mends: 1}},
		{"a link is cut and mended twice, two peers", "", explore.Scope{Peers: 2, Requests: []int{explore.Any, explore.Any}, GiveUps: 1, Cuts: 2, Mends: 2}},
		{"a peer crashes and returns", "", explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Crashes: 1, Mends: 2}},
		{"both crash and return, two peers", "", explore.Scope{Peers: 2, Requests: []int{explore.Any, explore.Any}, GiveUps: 1, Crashes: 2, Mends: 2}},
		{"the mesh forms", "", explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Forming: true, Mends: 3}},

		{"a coordinator that is gone blocks", explore.Stuck, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1}},
		{"a peer that is gone blocks", explore.Stuck, explore.Scope{Peers: 2, Requests: []int{1, 0}, Crashes: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.sc.Stuck = explore.StuckAnywhere
			peertest.Explore(t, tt.want, Options{}.Algorithm(), tt.sc)
		})
	}
}

func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		peertest.Walk[State, Message](t, Options{}.Algorithm(), peertest.DrawScope(t), nil)
	})
}

// TestInDoubt is the price of two-phase commit: peer 2 has voted for peer 0 and lost
// it. Nobody else gets the lock, although peer 0 has long given up, until it is back.
func TestInDoubt(t *testing.T) {
	new3 := func(self int) State {
		s := NewState(&Member{Self: self, Peers: peercore.SetOf(0, 1, 2).Without(self)})
		for i := range 3 {
			if i != self {
				s.Step(Event{Kind: peercore.Connect, Peer: i}, nil)
			}
		}
		return s
	}
	want := func(out []Effect, text string) {
		t.Helper()
		got := ""
		for _, e := range out {
			got += e.String() + "; "
		}
		if got != text {
			t.Fatalf("want %q, got %q", text, got)
		}
	}
	hear := func(s *State, from int, kind MessageKind, round uint64) []Effect {
		return s.Step(Event{Kind: peercore.Receive, Peer: from, Msg: Message{Kind: kind, Round: round}}, nil)
	}
	two := new3(2)
	want(hear(&two, 0, Prepare, 1), "Yes(1) -> {0}; ")
	want(two.Step(Event{Kind: peercore.Disconnect, Peer: 0}, nil), "")
	if two.Idle() {
		t.Fatal("the vote was forgotten with the connection")
	}
	want(hear(&two, 1, Prepare, 1), "No(1) -> {1}; ")
	want(two.Step(Event{Kind: peercore.Request}, nil), "")
	want(two.Step(Event{Kind: peercore.Connect, Peer: 0}, nil), "Inquire(1) -> {0}; ")
	want(hear(&two, 1, Prepare, 2), "No(2) -> {1}; ")

	zero := new3(0) // a new incarnation knows nothing of its round
	want(hear(&zero, 2, Inquire, 1), "Abort(1) -> {2}; ")
	want(hear(&two, 0, Abort, 1), "pause(0); ")
	want(two.Step(Event{Kind: peercore.Wake}, nil), "Prepare(1) -> {0 1}; ")
	want(hear(&two, 0, Yes, 1), "")
	want(hear(&two, 1, No, 1), "Abort(1) -> {0}; pause(1); ")
}

// TestCourtesy: who held while another one waited pauses before it asks again.
func TestCourtesy(t *testing.T) {
	for _, fair := range []bool{true, false} {
		s := NewState(&Member{Self: 0, Peers: peercore.SetOf(1), Fair: fair})
		step := func(kind peercore.EventKind, m Message) (got string) {
			for _, e := range s.Step(Event{Kind: kind, Peer: 1, Msg: m}, nil) {
				got += e.String() + "; "
			}
			return got
		}
		step(peercore.Connect, Message{})
		step(peercore.Request, Message{})
		step(peercore.Receive, Message{Kind: YesWaiting, Round: 1})
		if !s.Holds() {
			t.Fatal("not held after the only vote")
		}
		step(peercore.Leave, Message{})
		want := map[bool]string{true: "pause(0); ", false: "Prepare(2) -> {1}; "}[fair]
		if got := step(peercore.Request, Message{}); got != want {
			t.Errorf("fair %v: want %q, got %q", fair, want, got)
		}
	}
}
