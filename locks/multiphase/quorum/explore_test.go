package quorum

import (
	"testing"

	"locklab/locks/peerlock"
	"locklab/verify/explore"
)

func TestExplore(t *testing.T) {
	tests := []struct {
		name    string
		want    string
		options Options
		sc      explore.Scope
	}{
		{"no fault, two peers", "", Options{}, explore.Scope{Peers: 2, Requests: []int{3, 3}, GiveUps: 2, VotesStay: true}},
		{"four peers, all others must agree", "", Options{View: true}, explore.Scope{Peers: 4, Requests: []int{1, 1, 0, 0}, VotesStay: true}},

		{"a link is cut", "", Options{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Links: [][2]int{{0, 1}}}},
		{"all must agree, a link is cut", "", Options{View: true}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Links: [][2]int{{0, 1}}}},
		{"a peer is cut off and returns", "", Options{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Down: [][2]int{{0, 1}}, Links: [][2]int{{0, 2}}, Mends: 1}},
		{"the minority waits", explore.Stuck, Options{}, explore.Scope{Peers: 3, Requests: []int{1, 0, 0}, Links: [][2]int{{0, 1}, {0, 2}}, Stuck: explore.StuckAnywhere}},

		{"a voter crashes and returns", "", Options{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Down: [][2]int{{0, 1}}, Crashed: []int{2}, Mends: 2}},
		{"a holder crashes and returns", "", Options{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Down: [][2]int{{1, 2}}, Crashed: []int{0}, Mends: 2}},
		{"who returns to one of two can't recover", explore.Stuck, Options{}, explore.Scope{Peers: 3, Requests: []int{1, 0, 0}, Crashed: []int{0}, Mends: 1, Stuck: explore.StuckAnywhere}},
		{"a crash and giving up, two peers", "", Options{}, explore.Scope{Peers: 2, Requests: []int{2, 2}, GiveUps: 1, Crashed: []int{0}, Mends: 1}},
		{"all memory is lost, tokens", explore.TokenBack, Options{}, explore.Scope{Peers: 2, Requests: []int{2, 2}, Crashed: []int{0, 1}, Mends: 2}},
		{"all begin", "", Options{}, explore.Scope{Peers: 3, Requests: []int{1, 0, 0}, Newborn: true}},
		{"both begin", "", Options{}, explore.Scope{Peers: 2, Requests: []int{1, 1}, Newborn: true}},

		{"leases by the clock", "", Options{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Down: [][2]int{{0, 1}}, Clock: &explore.Clock{Lease: peerlock.Lease{TTL: 1, Renew: 1, Margin: 1}, Ticks: 3, Impatient: true}, Renewals: 1}},
		{"leases by the clock, two ticks", "", Options{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Down: [][2]int{{0, 1}}, Clock: &explore.Clock{Lease: peerlock.Lease{TTL: 2, Renew: 1, Margin: 1}, Ticks: 4, Impatient: true}, Renewals: 2}},
		{"leases by the clock, a link is cut", "", Options{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Down: [][2]int{{0, 1}}, Links: [][2]int{{0, 2}}, Mends: 1, Clock: &explore.Clock{Lease: peerlock.Lease{TTL: 1, Renew: 1, Margin: 1}, Ticks: 2, Impatient: true}, Renewals: 1}},
		{"a crash by the clock", "", Options{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Down: [][2]int{{0, 1}}, Crashed: []int{2}, Mends: 2, Clock: &explore.Clock{Lease: peerlock.Lease{TTL: 1, Margin: 1}, Ticks: 2, Impatient: true}}},

		{"a vote ends too early", explore.TwoHold, Options{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Untimed: true}},

		{"no fault", "", Options{}, explore.Scope{Peers: 3, Rounds: 1}},
		{"no fault, again and again", "", Options{}, explore.Scope{Peers: 3, Requests: []int{2, 2, 0}}},
		{"giving up at any moment", "", Options{}, explore.Scope{Peers: 3, Requests: []int{2, 1, 0}, GiveUps: 1}},
		{"leases end", "", Options{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Expiries: 1}},
		{"links are cut", "", Options{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 2}},
		{"a link is cut and mended", "", Options{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Links: [][2]int{{0, 2}}, Mends: 1}},
		{"the mesh forms", "", Options{}, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Forming: true, Mends: 3}},
		{"four peers", "", Options{}, explore.Scope{Peers: 4, Requests: []int{1, 1, 0, 0}}},
		{"crashes, two peers", "", Options{}, explore.Scope{
			Peers: 2, Requests: []int{2, 1}, GiveUps: 1, Expiries: 1, Renewals: 1, Crashed: []int{0}, Mends: 1,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			exploreWhole(t, tt.want, tt.options, tt.sc, nil)
		})
	}
}
