package core_test

import (
	"testing"

	"locklab/locks/peerlock/peercore"
	"locklab/locks/peerlock/peertest"
	"locklab/locks/ricartagrawala/core"
)

// mutant is the core with a rule broken.
type mutant struct {
	core.State
	mutate mutation
}

// mutation steps s in place of its own Step.
type mutation func(s *core.State, ev core.Event) []core.Effect

func (m *mutant) Step(ev core.Event, out []core.Effect) []core.Effect {
	return append(out, m.mutate(&m.State, ev)...)
}

func (m *mutant) Clone() mutant { return mutant{m.State.Clone(), m.mutate} }

func isReceived(ev core.Event, kind core.MessageKind) bool {
	return ev.Kind == peercore.Receive && ev.Msg.Kind == kind
}

// without leaves out what is sent of one kind.
func without(out []core.Effect, kind core.MessageKind) (rest []core.Effect) {
	for _, e := range out {
		if e.Kind != peercore.Send || e.Msg.Kind != kind {
			rest = append(rest, e)
		}
	}
	return rest
}

// TestEveryRuleIsNeeded breaks one rule after the other: each break is found.
func TestEveryRuleIsNeeded(t *testing.T) {
	tests := []struct {
		name   string
		want   string
		sc     peertest.Scope[mutant, core.Message]
		mutate mutation
	}{
		{
			"a holder answers earlier requests", peertest.TwoHold,
			peertest.Scope[mutant, core.Message]{Peers: 2, Requests: []int{2, 2}, Crashes: []int{0}, Mends: 1},
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
			"a reply to any request counts", peertest.TwoHold,
			peertest.Scope[mutant, core.Message]{Peers: 2, Requests: []int{2, 2}, GiveUps: 2},
			func(s *core.State, ev core.Event) []core.Effect {
				if isReceived(ev, core.Reply) {
					ev.Msg.At = s.At()
				}
				return s.Step(ev, nil)
			},
		},
		{
			"a waiting peer answers everybody", peertest.TwoHold,
			peertest.Scope[mutant, core.Message]{Peers: 2, Requests: []int{1, 1}},
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
			"giving up forgets what was deferred", peertest.Stuck,
			peertest.Scope[mutant, core.Message]{Peers: 2, Requests: []int{1, 1}, GiveUps: 1},
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
			"a new connection does not hear of the request", peertest.Stuck,
			peertest.Scope[mutant, core.Message]{Peers: 2, Requests: []int{1, 0}, Cuts: [][2]int{{0, 1}}, Mends: 1},
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
			base := with(scope{}, false)
			tt.sc.Append = base.Append
			tt.sc.New = func(self int, peers peercore.Set) mutant {
				return mutant{base.New(self, peers), tt.mutate}
			}
			v := peertest.Explore[mutant, core.Message](tt.sc)
			if v.Violation != tt.want {
				t.Errorf("want %q, got %v", tt.want, v)
			}
			t.Log(v)
		})
	}
}
