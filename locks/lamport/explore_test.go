package lamport_test

import (
	"testing"

	"pgregory.net/rapid"

	"locklab/locks/lamport"
	"locklab/verify/explore"
	"locklab/verify/peertest"
)

func TestExplore(t *testing.T) {
	tests := []struct {
		name   string
		want   string
		detect bool
		sc     explore.Scope
	}{
		{"no fault, two peers", "", false, explore.Scope{Peers: 2, Requests: []int{3, 3}, GiveUps: 2}},
		{"no fault", "", false, explore.Scope{Peers: 3, Requests: []int{1, 1, 1}}},
		{"giving up at any moment", "", false, explore.Scope{Peers: 3, Requests: []int{2, 1, 0}, GiveUps: 1}},
		{"a link is cut and mended", "", false, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1, Mends: 1}},
		{"a link is cut and mended twice, two peers", "", false, explore.Scope{Peers: 2, Requests: []int{2, 2}, GiveUps: 1, Cuts: 2, Mends: 2}},
		{"a peer crashes and returns", "", false, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Crashes: 1, Mends: 2}},
		{"a peer crashes and returns, two peers", "", false, explore.Scope{Peers: 2, Requests: []int{3, 3}, Crashes: 2, Mends: 2}},
		{"crashes and giving up, two peers", "", false, explore.Scope{Peers: 2, Requests: []int{2, 2}, GiveUps: 2, Crashes: 2, Mends: 2}},
		{"the mesh forms", "", false, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Forming: true, Mends: 3}},
		{"a link stays cut, its ends wait", explore.Stuck, false, explore.Scope{Peers: 3, Requests: []int{1, 0, 0}, Cuts: 1}},
		{"a peer that is gone blocks", explore.Stuck, false, explore.Scope{Peers: 2, Requests: []int{1, 0}, Crashes: 1}},

		{"no fault", "", true, explore.Scope{Peers: 3, Requests: []int{1, 1, 1}}},
		{"a peer that is gone does not block", "", true, explore.Scope{Peers: 3, Requests: []int{2, 0, 0}, Cuts: 2}},
		{"a peer crashes and returns", "", true, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Crashes: 1, Mends: 2}},
		{"the mesh forms", "", true, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Forming: true, Mends: 3}},
		{"two peers, cut", explore.TwoHold, true, explore.Scope{Peers: 2, Requests: []int{1, 1}, Cuts: 1}},
		{"one link of three is cut", explore.TwoHold, true, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1}},
	}
	for _, tt := range tests {
		for _, replies := range []bool{false, true} {
			o := lamport.Options{Detect: tt.detect, Defer: replies}
			t.Run(o.String()+": "+tt.name, func(t *testing.T) {
				t.Parallel()
				sc := tt.sc
				sc.Stuck = explore.StuckAnywhere
				peertest.Explore(t, tt.want, o.Algorithm(), sc)
			})
		}
	}
}

func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := lamport.Options{Defer: rapid.Bool().Draw(t, "defer")}
		peertest.Walk[lamport.State, lamport.Message](t, o.Algorithm(), peertest.DrawScope(t), nil)
	})
}
