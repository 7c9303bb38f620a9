package core_test

import (
	"testing"

	"pgregory.net/rapid"

	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
	"locklab/locks/peerlock/peertest"
	"locklab/locks/ricartagrawala/core"
)

type scope = peertest.Scope[core.State, core.Message]

// with fills in what all scopes share.
func with(sc scope, detect bool) scope {
	sc.New = func(self int, peers peercore.Set) core.State {
		return core.New(&core.Config{Self: self, Peers: peers, Detect: detect})
	}
	sc.Append = func(b []byte, m core.Message) []byte { return peerlock.AppendNumbered(b, uint8(m.Kind), m.At) }
	return sc
}

func TestExplore(t *testing.T) {
	tests := []struct {
		name   string
		want   string
		detect bool
		sc     scope
	}{
		{"no fault, two peers", "", false, scope{Peers: 2, Requests: []int{3, 3}, GiveUps: 2}},
		{"no fault", "", false, scope{Peers: 3, Requests: []int{1, 1, 1}}},
		{"giving up at any moment", "", false, scope{Peers: 3, Requests: []int{2, 1, 0}, GiveUps: 1}},
		{"a link is cut and mended", "", false, scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: [][2]int{{0, 1}}, Mends: 1}},
		{"a link is cut and mended twice, two peers", "", false, scope{Peers: 2, Requests: []int{2, 2}, GiveUps: 1, Cuts: [][2]int{{0, 1}, {0, 1}}, Mends: 2}},
		{"a peer crashes and returns", "", false, scope{Peers: 3, Requests: []int{1, 1, 0}, Crashes: []int{0}, Mends: 2}},
		{"a peer crashes and returns, two peers", "", false, scope{Peers: 2, Requests: []int{3, 3}, Crashes: []int{0, 1}, Mends: 2}},
		{"crashes and giving up, two peers", "", false, scope{Peers: 2, Requests: []int{2, 2}, GiveUps: 2, Crashes: []int{0, 1}, Mends: 2}},
		{"the mesh forms", "", false, scope{Peers: 3, Requests: []int{1, 1, 0}, Forming: true, Mends: 3}},
		{"a link stays cut, its ends wait", peertest.Stuck, false, scope{Peers: 3, Requests: []int{1, 0, 0}, Cuts: [][2]int{{0, 1}}}},
		{"a peer that is gone blocks", peertest.Stuck, false, scope{Peers: 2, Requests: []int{1, 0}, Crashes: []int{1}}},

		{"detect: no fault", "", true, scope{Peers: 3, Requests: []int{1, 1, 1}}},
		{"detect: a peer that is gone does not block", "", true, scope{Peers: 3, Requests: []int{2, 0, 0}, Crashes: []int{1}}},
		{"detect: a peer crashes and returns", "", true, scope{Peers: 3, Requests: []int{1, 1, 0}, Crashes: []int{0}, Mends: 2}},
		{"detect: the mesh forms", "", true, scope{Peers: 3, Requests: []int{1, 1, 0}, Forming: true, Mends: 3}},
		{"detect: two peers, cut", peertest.TwoHold, true, scope{Peers: 2, Requests: []int{1, 1}, Cuts: [][2]int{{0, 1}}}},
		{"detect: one link of three is cut", peertest.TwoHold, true, scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: [][2]int{{0, 1}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := peertest.Explore[core.State, core.Message](with(tt.sc, tt.detect))
			if v.Violation != tt.want {
				t.Errorf("want %q, got %v", tt.want, v)
			}
			t.Log(v)
		})
	}
}

func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := with(peertest.DrawScope[core.State, core.Message](t), false)
		peertest.Walk[core.State, core.Message](t, sc, nil)
	})
}
