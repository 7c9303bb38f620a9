package twophase

import (
	"testing"

	"pgregory.net/rapid"

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
