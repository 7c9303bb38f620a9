package core_test

import (
	"testing"

	"locklab/locks/peerlock/peercore"
	"locklab/locks/peerlock/peertest"
	"locklab/locks/twophase/core"
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
			"a vote in any round counts", peertest.TwoHold,
			peertest.Scope[mutant, core.Message]{Peers: 2, Requests: []int{2, 2}, GiveUps: 2},
			func(s *core.State, ev core.Event) []core.Effect {
				if isReceived(ev, core.Yes) || isReceived(ev, core.YesWaiting) {
					ev.Msg.Round = s.Round()
				}
				return s.Step(ev, nil)
			},
		},
		{
			"who is reserved for another votes yes", peertest.TwoHold,
			peertest.Scope[mutant, core.Message]{Peers: 2, Requests: []int{1, 1}},
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
			"giving up sends nothing", peertest.Stuck,
			peertest.Scope[mutant, core.Message]{Peers: 2, Requests: []int{1, 1}, GiveUps: 1},
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
			"a participant does not ask what became of a round", peertest.Stuck,
			peertest.Scope[mutant, core.Message]{Peers: 2, Requests: []int{1, 1}, Cuts: [][2]int{{0, 1}}, Mends: 1},
			func(s *core.State, ev core.Event) []core.Effect { return without(s.Step(ev, nil), core.Inquire) },
		},
		{
			"a coordinator does not answer what it has forgotten", peertest.Stuck,
			peertest.Scope[mutant, core.Message]{Peers: 2, Requests: []int{1, 1}, Crashes: []int{0}, Mends: 1},
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
			peertest.Scope[mutant, core.Message]{Peers: 3, Requests: []int{1, 1, 0}, Cuts: [][2]int{{0, 2}}, Mends: 1},
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
			base := with(scope{})
			tt.sc.Append, tt.sc.Renumber, tt.sc.StatesMax = base.Append, renumber[mutant], 300_000
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
