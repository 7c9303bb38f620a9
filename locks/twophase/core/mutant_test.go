package core_test

import (
	"testing"

	"locklab/locks/explore"
	"locklab/locks/peerlock/peercore"
	"locklab/locks/peerlock/peertest"
	"locklab/locks/twophase"
	"locklab/locks/twophase/core"
)

type mutation = peertest.Mutation[core.State, core.Message]

func isReceived(ev core.Event, kind core.MessageKind) bool {
	return ev.Kind == peercore.Receive && ev.Msg.Kind == kind
}

// without leaves out what is sent of one kind.
func without(out []core.Effect, kind core.MessageKind) []core.Effect {
	return peertest.WithoutSends(out, func(m core.Message) bool { return m.Kind == kind })
}

// TestEveryRuleIsNeeded breaks one rule after the other: each break is found.
func TestEveryRuleIsNeeded(t *testing.T) {
	tests := []struct {
		name   string
		want   string
		sc     explore.Scope
		mutate mutation
	}{
		{
			"a vote in any round counts", explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{2, 2}, GiveUps: 2},
			func(s *core.State, ev core.Event) []core.Effect {
				if isReceived(ev, core.Yes) || isReceived(ev, core.YesWaiting) {
					ev.Msg.Round = s.Round()
				}
				return s.Step(ev, nil)
			},
		},
		{
			"who is reserved for another votes yes", explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{1, 1}},
			func(s *core.State, ev core.Event) []core.Effect {
				out := s.Step(ev, nil)
				for i := range out {
					if out[i].Msg.Kind == core.No {
						out[i].Msg.Kind = core.Yes
					}
				}
				return out
			},
		},
		{
			"giving up sends nothing", explore.Stuck,
			explore.Scope{Peers: 2, Requests: []int{1, 1}, GiveUps: 1},
			func(s *core.State, ev core.Event) []core.Effect {
				gaveUp := s.Waits() && ev.Kind == peercore.Leave
				out := s.Step(ev, nil)
				if gaveUp {
					out = without(out, core.Abort)
				}
				return out
			},
		},
		{
			"a participant does not ask what became of a round", explore.Stuck,
			explore.Scope{Peers: 2, Requests: []int{1, 1}, Links: [][2]int{{0, 1}}, Mends: 1},
			func(s *core.State, ev core.Event) []core.Effect { return without(s.Step(ev, nil), core.Inquire) },
		},
		{
			"a coordinator does not answer what it has forgotten", explore.Stuck,
			explore.Scope{Peers: 2, Requests: []int{1, 1}, Crashed: []int{0}, Mends: 1},
			func(s *core.State, ev core.Event) []core.Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, core.Inquire) {
					out = without(out, core.Abort)
				}
				return out
			},
		},
		{
			// Not a danger while every peer is needed: the coordinator is a participant
			// itself. It is what two-phase commit says nevertheless.
			"a participant forgets a coordinator that is gone", "",
			explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Links: [][2]int{{0, 2}}, Mends: 1},
			func(s *core.State, ev core.Event) []core.Effect {
				out := s.Step(ev, nil)
				if ev.Kind == peercore.Disconnect {
					out = append(out, s.Step(core.Event{Kind: peercore.Connect, Peer: ev.Peer}, nil)...)
					for r := range s.Reserved(ev.Peer) {
						out = append(out, s.Step(core.Event{
							Kind: peercore.Receive, Peer: ev.Peer, Msg: core.Message{Kind: core.Abort, Round: r},
						}, nil)...)
					}
					out = append(out, s.Step(core.Event{Kind: peercore.Disconnect, Peer: ev.Peer}, nil)...)
				}
				return without(out, core.Inquire)
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.sc.Stuck = explore.StuckAnywhere
			alg := twophase.Options{}.Algorithm()
			peertest.ExploreMutant(t, tt.want, alg, tt.sc, tt.mutate)
			peertest.Explore(t, "", alg, tt.sc) // the core as it is passes
		})
	}
}
