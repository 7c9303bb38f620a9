package core_test

import (
	"testing"

	"locklab/locks/explore"
	"locklab/locks/lamport"
	"locklab/locks/lamport/core"
	"locklab/locks/peerlock/peercore"
	"locklab/locks/peerlock/peertest"
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
			"a holder acknowledges earlier requests too", explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{2, 2}, Crashed: []int{0}, Mends: 1},
			func(s *core.State, ev core.Event) []core.Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, core.Request) && len(out) == 0 {
					out = append(out, core.Effect{
						Kind: peercore.Send, To: peercore.SetOf(ev.Peer), Msg: core.Message{Kind: core.Ack, At: ev.Msg.At},
					})
				}
				return out
			},
		},
		{
			"a later request counts as heard", explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{2, 2}, Crashed: []int{0}, Mends: 1},
			func(s *core.State, ev core.Event) []core.Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, core.Request) && ev.Msg.At >= s.At() {
					ev.Msg = core.Message{Kind: core.Ack, At: s.At()}
					out = append(out, s.Step(ev, nil)...)
				}
				return out
			},
		},
		{
			"an acknowledgement of any request counts", explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{2, 2}, GiveUps: 2, Crashed: []int{0}, Mends: 1},
			func(s *core.State, ev core.Event) []core.Effect {
				if isReceived(ev, core.Ack) {
					ev.Msg.At = s.At()
				}
				return s.Step(ev, nil)
			},
		},
		{
			"requests are not put in order", explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{1, 1}},
			func(s *core.State, ev core.Event) []core.Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, core.Request) && s.Waits() { // as if it were released at once
					ev.Msg.Kind = core.Release
					ev.Msg.At = 0
					out = append(out, s.Step(ev, nil)...)
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
					out = without(out, core.Release)
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
			alg := lamport.Options{}.Algorithm()
			peertest.ExploreMutant(t, tt.want, alg, tt.sc, tt.mutate)
			peertest.Explore(t, "", alg, tt.sc) // the core as it is passes
		})
	}
}
