package quorum

import (
	"testing"

	"locklab/verify/explore"
	"locklab/verify/peertest"
)

func TestExplore(t *testing.T) {
	tests := []struct {
		name    string
		want    string
		options Options
		apart   [2]int // two that never meet, if any
		sc      explore.Scope
	}{
		{"no fault, two peers", "", Options{}, [2]int{}, explore.Scope{Peers: 2, Requests: []int{3, 3}, GiveUps: 2}},
		{"four peers, all others must agree", "", Options{View: true}, [2]int{}, explore.Scope{Peers: 4, Requests: []int{1, 1, 0, 0}}},

		{"a link is cut", "", Options{}, [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1}},
		{"all must agree, a link is cut", "", Options{View: true}, [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1}},
		{"a peer is cut off and returns", "", Options{}, [2]int{0, 1}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1, Mends: 1}},
		{"the minority waits", explore.Stuck, Options{}, [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 0, 0}, Cuts: 2, Stuck: explore.StuckAnywhere}},

		{"a voter crashes and returns", "", Options{}, [2]int{0, 1}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Crashes: 1, Mends: 2, Stuck: explore.StuckUnchecked}},
		{"a holder crashes and returns", "", Options{}, [2]int{1, 2}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Crashes: 1, Mends: 2, Stuck: explore.StuckUnchecked}},
		{"who returns to one of two can't recover", explore.Stuck, Options{}, [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 0, 0}, Crashes: 1, Mends: 1, Stuck: explore.StuckAnywhere}},
		{"a crash and giving up, two peers", "", Options{}, [2]int{}, explore.Scope{Peers: 2, Requests: []int{2, 2}, GiveUps: 1, Crashes: 1, Mends: 1}},
		{"all memory is lost, tokens", explore.TokenBack, Options{}, [2]int{}, explore.Scope{Peers: 2, Requests: []int{2, 2}, Crashes: 2, Mends: 2}},

		{"a vote ends too early", explore.TwoHold, Options{}, [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Untimed: true}},

		{"no fault", "", Options{}, [2]int{}, explore.Scope{Peers: 3, Requests: []int{1}}},
		{"no fault, again and again", "", Options{}, [2]int{}, explore.Scope{Peers: 3, Requests: []int{2, 2, 0}}},
		{"giving up at any moment", "", Options{}, [2]int{}, explore.Scope{Peers: 3, Requests: []int{2, 1, 0}, GiveUps: 1}},
		{"leases end", "", Options{}, [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Expiries: 1}},
		{"links are cut", "", Options{}, [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 2}},
		{"a link is cut and mended", "", Options{}, [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1, Mends: 1}},
		{"the mesh forms", "", Options{}, [2]int{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Forming: true, Mends: 3}},
		{"four peers", "", Options{}, [2]int{}, explore.Scope{Peers: 4, Requests: []int{1, 1, 0, 0}}},
		{"crashes, two peers", "", Options{}, [2]int{}, explore.Scope{
			Peers: 2, Requests: []int{2, 1}, GiveUps: 1, Expiries: 1, Renewals: 1, Crashes: 1, Mends: 1,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			peertest.Explore(t, tt.want, apart(whole(tt.options), tt.apart, asItIs), tt.sc)
		})
	}
}
