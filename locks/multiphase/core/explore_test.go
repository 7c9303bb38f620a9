package core

import (
	"testing"

	"locklab/verify/explore"
	"locklab/verify/peertest"
)

func without(change func(*Options)) Options {
	o := DefaultOptions()
	change(&o)
	return o
}

// TestExplore is the case for the rules that options can take away: with all of them
// nothing is violated within the bounds, and each one that is dropped is missed.
func TestExplore(t *testing.T) {
	const everywhere = explore.StuckAnywhere
	all := DefaultOptions()
	literal := without(func(o *Options) { o.Rule = RuleLiteral; o.Fair = false })
	noRounds := without(func(o *Options) { o.Rounds = false })
	noView := without(func(o *Options) { o.View = false })
	noFair := without(func(o *Options) { o.Fair = false })
	tests := []struct {
		name    string
		want    string
		options Options
		sc      explore.Scope
	}{
		{"no fault, without end", "", all, explore.Scope{Peers: 3, Requests: []int{explore.Any}}},
		{"no fault", "", all, explore.Scope{Peers: 3, Requests: []int{2, 2, 1}}},
		{"no fault, two peers", "", all, explore.Scope{Peers: 2, Requests: []int{3, 3}, GiveUps: 3}},
		{"giving up at any moment", "", all, explore.Scope{Peers: 3, Requests: []int{2, 1, 1}, GiveUps: 1}},
		{"giving up, without the debt rule", "", noFair, explore.Scope{Peers: 3, Requests: []int{1, 1, 2}, GiveUps: 1}},
		{"a link is cut and mended", "", all, explore.Scope{Peers: 3, Requests: []int{1}, Cuts: 1, Mends: 1, Stuck: everywhere}},
		{"a lower link is cut and mended", "", all, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, GiveUps: 1, Cuts: 1, Mends: 1, Stuck: everywhere}},
		{"a peer crashes and returns", "", all, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Crashes: 1, Mends: 2, Stuck: everywhere}},
		{"the mesh forms", "", all, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Forming: true, Mends: 3, Stuck: everywhere}},
		{"four peers, only pairs connected so far", "", all, explore.Scope{Peers: 4, Requests: []int{1, 0, 1, 0}, Forming: true, Mends: 2}},
		{"a waiting peer is passed at most 2(N-1) times", "", all, explore.Scope{Peers: 3, Requests: []int{1, 3, 2}, Bypass: 4}},
		{"a waiting peer is passed at most 2(N-1) times, without end", "", all, explore.Scope{Peers: 3, Requests: []int{explore.Any}, Bypass: 4}},

		{"the literal rule", explore.TwoHold, literal, explore.Scope{Peers: 3, Requests: []int{2, 1, 1}}},
		{"without rounds, two peers", explore.TwoHold, noRounds, explore.Scope{Peers: 2, Requests: []int{2, 2}, GiveUps: 2}},
		{"without rounds, a link is cut", explore.TwoHold, noRounds, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1, Mends: 1}},
		{"without the view rule", explore.TwoHold, noView, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1}},
		{"without the debt rule", explore.Starves, noFair, explore.Scope{Peers: 3, Requests: []int{1, 3, 2}, Bypass: 4}},
		{"messages overtake each other", explore.Stuck, all, explore.Scope{Peers: 3, Requests: []int{1}, GiveUps: 1, Reorder: true}},

		// What no rule closes.
		{"inherent: two peers, cut", explore.TwoHold, all, explore.Scope{Peers: 2, Requests: []int{1, 1}, Cuts: 1}},
		{"inherent: one of three is cut off", explore.TwoHold, all, explore.Scope{Peers: 3, Requests: []int{1}, Cuts: 2}},
		{"inherent: a link stays cut, its ends wait", explore.Stuck, all, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1, Stuck: everywhere}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			peertest.Explore(t, tt.want, tt.options.Algorithm(), tt.sc)
		})
	}
}
