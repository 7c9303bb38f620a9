package twophase

import (
	"slices"
	"testing"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/peertest"
)

type mutation = peertest.Mutation[State, Message]

func isReceived(ev Event, kind MessageKind) bool {
	return ev.Kind == peercore.Receive && ev.Msg.Kind == kind
}

// unsent is the core without one kind of message in the steps to which it applies.
func unsent(kind MessageKind, applies func(s *State, ev Event) bool) peertest.Mutation[State, Message] {
	return peertest.Unsent(func(m Message) bool { return m.Kind == kind }, applies)
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
			func(s *State, ev Event) []Effect {
				if isReceived(ev, Yes) || isReceived(ev, YesWaiting) {
					ev.Msg.Round = s.Round()
				}
				return s.Step(ev, nil)
			},
		},
		{
			"who is reserved for another votes yes", explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{1, 1}},
			func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				for i := range out {
					if out[i].Msg.Kind == No {
						out[i].Msg.Kind = Yes
					}
				}
				return out
			},
		},
		{
			"giving up sends nothing", explore.Stuck,
			explore.Scope{Peers: 2, Requests: []int{1, 1}, GiveUps: 1},
			unsent(Abort, func(s *State, ev Event) bool { return s.Waits() && ev.Kind == peercore.Leave }),
		},
		{
			"a participant does not ask what became of a round", explore.Stuck,
			explore.Scope{Peers: 2, Requests: []int{1, 1}, Cuts: 1, Mends: 1},
			unsent(Inquire, func(*State, Event) bool { return true }),
		},
		{
			"a coordinator does not answer what it has forgotten", explore.Stuck,
			explore.Scope{Peers: 2, Requests: []int{1, 1}, Crashes: 1, Mends: 1},
			unsent(Abort, func(_ *State, ev Event) bool { return isReceived(ev, Inquire) }),
		},
		{
			// Not a danger while every peer is needed: the coordinator is a participant
			// itself. It is what two-phase commit says nevertheless.
			"a participant forgets a coordinator that is gone", "",
			explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1, Mends: 1},
			func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if ev.Kind == peercore.Disconnect {
					out = append(out, s.Step(Event{Kind: peercore.Connect, Peer: ev.Peer}, nil)...)
					if r := s.reserved.round; s.reserved.taken && s.reserved.by == ev.Peer {
						out = append(out, s.Step(Event{
							Kind: peercore.Receive, Peer: ev.Peer, Msg: Message{Kind: Abort, Round: r},
						}, nil)...)
					}
					out = append(out, s.Step(Event{Kind: peercore.Disconnect, Peer: ev.Peer}, nil)...)
				}
				return slices.DeleteFunc(out, func(e Effect) bool { return e.Kind == peercore.Send && e.Msg.Kind == Inquire })
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.sc.Stuck = explore.StuckAnywhere
			alg := Options{}.Algorithm()
			peertest.Needed(t, tt.want, alg, tt.mutate, tt.sc)
		})
	}
}
