package quorum

import (
	"testing"

	"locklab/verify/explore"
	"locklab/verify/peertest"
)

func TestExplore(t *testing.T) {
	tests := []struct {
		name  string
		want  string
		apart [2]int // two that never meet, if any
		sc    explore.Scope
	}{
		{"no fault, two peers", "", [2]int{}, explore.Scope{Peers: 2, Requests: []int{3, 3}, GiveUps: 2}},

		{"a link is cut", "", [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1}},
		{"a peer is cut off and returns", "", [2]int{0, 1}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1, Mends: 1}},
		{"the minority waits", explore.Stuck, [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 0, 0}, Cuts: 2, Stuck: explore.StuckAnywhere}},

		{"a vote ends too early", explore.TwoHold, [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Untimed: true}},

		{"no fault", "", [2]int{}, explore.Scope{Peers: 3, Requests: []int{1}}},
		{"no fault, again and again", "", [2]int{}, explore.Scope{Peers: 3, Requests: []int{2, 2, 0}}},
		{"giving up at any moment", "", [2]int{}, explore.Scope{Peers: 3, Requests: []int{2, 1, 0}, GiveUps: 1}},
		{"leases end", "", [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Expiries: 1}},
		{"links are cut", "", [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 2}},
		{"a link is cut and mended", "", [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1, Mends: 1}},
		{"the mesh forms", "", [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Forming: true, Mends: 3}},
		{"four peers", "", [2]int{}, explore.Scope{Peers: 4, Requests: []int{1, 1, 0, 0}}},
		{"crashes, two peers", "", [2]int{}, explore.Scope{
			Peers: 2, Requests: []int{2, 1}, GiveUps: 1, Expiries: 1, Renewals: 1, Crashes: 1, Mends: 1,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			peertest.Explore(t, tt.want, apart(Algorithm(), tt.apart, asItIs), tt.sc)
		})
	}
}
