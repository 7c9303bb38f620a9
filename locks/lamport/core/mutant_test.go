package core_test

import (
	"testing"

	"locklab/locks/lamport/core"
	"locklab/locks/peerlock/peercore"
	"locklab/locks/peerlock/peertest"
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
			"a holder acknowledges earlier requests too", peertest.TwoHold,
			peertest.Scope[mutant, core.Message]{Peers: 2, Requests: []int{2, 2}, Crashes: []int{0}, Mends: 1},
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
			"a later request counts as heard", peertest.TwoHold,
			peertest.Scope[mutant, core.Message]{Peers: 2, Requests: []int{2, 2}, Crashes: []int{0}, Mends: 1},
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
			"an acknowledgement of any request counts", peertest.TwoHold,
			peertest.Scope[mutant, core.Message]{Peers: 2, Requests: []int{2, 2}, GiveUps: 2, Crashes: []int{0}, Mends: 1},
			func(s *core.State, ev core.Event) []core.Effect {
				if isReceived(ev, core.Ack) {
					ev.Msg.At = s.At()
				}
				return s.Step(ev, nil)
			},
		},
		{
			"requests are not put in order", peertest.TwoHold,
			peertest.Scope[mutant, core.Message]{Peers: 2, Requests: []int{1, 1}},
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
			"giving up sends nothing", peertest.Stuck,
			peertest.Scope[mutant, core.Message]{Peers: 2, Requests: []int{1, 1}, GiveUps: 1},
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
