package core_test

import (
	"testing"

	"pgregory.net/rapid"

	"locklab/locks/explore"
	"locklab/locks/lamport"
	"locklab/locks/lamport/core"
	"locklab/locks/peerlock/peertest"
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
		{"a link is cut and mended", "", false, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Links: [][2]int{{0, 1}}, Mends: 1}},
		{"a link is cut and mended twice, two peers", "", false, explore.Scope{Peers: 2, Requests: []int{2, 2}, GiveUps: 1, Links: [][2]int{{0, 1}, {0, 1}}, Mends: 2}},
		{"a peer crashes and returns", "", false, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Crashed: []int{0}, Mends: 2}},
		{"a peer crashes and returns, two peers", "", false, explore.Scope{Peers: 2, Requests: []int{3, 3}, Crashed: []int{0, 1}, Mends: 2}},
		{"crashes and giving up, two peers", "", false, explore.Scope{Peers: 2, Requests: []int{2, 2}, GiveUps: 2, Crashed: []int{0, 1}, Mends: 2}},
		{"the mesh forms", "", false, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Forming: true, Mends: 3}},
		{"a link stays cut, its ends wait", explore.Stuck, false, explore.Scope{Peers: 3, Requests: []int{1, 0, 0}, Links: [][2]int{{0, 1}}}},
		{"a peer that is gone blocks", explore.Stuck, false, explore.Scope{Peers: 2, Requests: []int{1, 0}, Crashed: []int{1}}},

		{"detect: no fault", "", true, explore.Scope{Peers: 3, Requests: []int{1, 1, 1}}},
		{"detect: a peer that is gone does not block", "", true, explore.Scope{Peers: 3, Requests: []int{2, 0, 0}, Crashed: []int{1}}},
		{"detect: a peer crashes and returns", "", true, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Crashed: []int{0}, Mends: 2}},
		{"detect: the mesh forms", "", true, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Forming: true, Mends: 3}},
		{"detect: two peers, cut", explore.TwoHold, true, explore.Scope{Peers: 2, Requests: []int{1, 1}, Links: [][2]int{{0, 1}}}},
		{"detect: one link of three is cut", explore.TwoHold, true, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Links: [][2]int{{0, 1}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.sc.Stuck = explore.StuckAnywhere
			peertest.Explore(t, tt.want, lamport.Options{Detect: tt.detect}.Algorithm(), tt.sc)
		})
	}
}

func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		peertest.Walk[core.State, core.Message](t, lamport.Options{}.Algorithm(), peertest.DrawScope(t), nil)
	})
}
