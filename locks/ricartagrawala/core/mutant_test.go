package core_test

import (
	"testing"

	"locklab/locks/explore"
	"locklab/locks/peerlock/peercore"
	"locklab/locks/peerlock/peertest"
	"locklab/locks/ricartagrawala"
	"locklab/locks/ricartagrawala/core"
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
			"a holder answers earlier requests", explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{2, 2}, Crashed: []int{0}, Mends: 1},
			func(s *core.State, ev core.Event) []core.Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, core.Request) && s.Holds() && ev.Msg.At <= s.At() && len(out) == 0 {
					out = append(out, core.Effect{
						Kind: peercore.Send, To: peercore.SetOf(ev.Peer), Msg: core.Message{Kind: core.Reply, At: ev.Msg.At},
					})
				}
				return out
			},
		},
		{
			"a reply to any request counts", explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{2, 2}, GiveUps: 2},
			func(s *core.State, ev core.Event) []core.Effect {
				if isReceived(ev, core.Reply) {
					ev.Msg.At = s.At()
				}
				return s.Step(ev, nil)
			},
		},
		{
			"a waiting peer answers everybody", explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{1, 1}},
			func(s *core.State, ev core.Event) []core.Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, core.Request) && s.Waits() && len(out) == 0 {
					out = append(out, core.Effect{
						Kind: peercore.Send, To: peercore.SetOf(ev.Peer), Msg: core.Message{Kind: core.Reply, At: ev.Msg.At},
					})
				}
				return out
			},
		},
		{
			"giving up forgets what was deferred", explore.Stuck,
			explore.Scope{Peers: 2, Requests: []int{1, 1}, GiveUps: 1},
			func(s *core.State, ev core.Event) []core.Effect {
				gaveUp := s.Waits() && ev.Kind == peercore.Leave
				out := s.Step(ev, nil)
				if gaveUp {
					out = without(out, core.Reply)
				}
				return out
			},
		},
		{
			"a new connection does not hear of the request", explore.Stuck,
			explore.Scope{Peers: 2, Requests: []int{1, 0}, Links: [][2]int{{0, 1}}, Mends: 1},
			func(s *core.State, ev core.Event) []core.Effect {
				out := s.Step(ev, nil)
				if ev.Kind == peercore.Connect {
					out = without(out, core.Request)
				}
				return out
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.sc.Stuck = explore.StuckAnywhere
			alg := ricartagrawala.Options{}.Algorithm()
			peertest.ExploreMutant(t, tt.want, alg, tt.sc, tt.mutate)
			peertest.Explore(t, "", alg, tt.sc) // the core as it is passes
		})
	}
}
