package lamport

import (
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
		defers bool
		want   string
		sc     explore.Scope
		mutate mutation
	}{
		{
			"a holder acknowledges earlier requests too", false, explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{2, 2}, Crashes: 1, Mends: 1},
			func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, Request) && len(out) == 0 {
					out = append(out, peertest.Reply(ev, Message{Kind: Ack, At: ev.Msg.At}))
				}
				return out
			},
		},
		{
			"a later request counts as heard", false, explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{2, 2}, Crashes: 1, Mends: 1},
			func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, Request) && ev.Msg.At >= s.at {
					ev.Msg = Message{Kind: Ack, At: s.at}
					out = append(out, s.Step(ev, nil)...)
				}
				return out
			},
		},
		{
			"an acknowledgement of any request counts", false, explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{2, 2}, GiveUps: 2, Crashes: 1, Mends: 1},
			func(s *State, ev Event) []Effect {
				if isReceived(ev, Ack) {
					ev.Msg.At = s.at
				}
				return s.Step(ev, nil)
			},
		},
		{
			"requests are not put in order", false, explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{1, 1}},
			func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, Request) && s.Waits() { // as if it were released at once
					ev.Msg.Kind = Release
					ev.Msg.At = 0
					out = append(out, s.Step(ev, nil)...)
				}
				return out
			},
		},
		{
			"giving up sends nothing", false, explore.Stuck,
			explore.Scope{Peers: 2, Requests: []int{1, 1}, GiveUps: 1},
			unsent(Release, func(s *State, ev Event) bool { return s.Waits() && ev.Kind == peercore.Leave }),
		},
		{
			"a holder answers earlier requests", true, explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{2, 2}, Crashes: 1, Mends: 1},
			func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, Request) && s.Holds() && ev.Msg.At <= s.at && len(out) == 0 {
					out = append(out, peertest.Reply(ev, Message{Kind: Reply, At: ev.Msg.At}))
				}
				return out
			},
		},
		{
			"a reply to any request counts", true, explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{2, 2}, GiveUps: 2},
			func(s *State, ev Event) []Effect {
				if isReceived(ev, Reply) {
					ev.Msg.At = s.at
				}
				return s.Step(ev, nil)
			},
		},
		{
			"a waiting peer answers everybody", true, explore.TwoHold,
			explore.Scope{Peers: 2, Requests: []int{1, 1}},
			func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, Request) && s.Waits() && len(out) == 0 {
					out = append(out, peertest.Reply(ev, Message{Kind: Reply, At: ev.Msg.At}))
				}
				return out
			},
		},
		{
			"giving up forgets what was deferred", true, explore.Stuck,
			explore.Scope{Peers: 2, Requests: []int{1, 1}, GiveUps: 1},
			unsent(Reply, func(s *State, ev Event) bool { return s.Waits() && ev.Kind == peercore.Leave }),
		},
		{
			"a new connection does not hear of the request", false, explore.Stuck,
			explore.Scope{Peers: 2, Requests: []int{1, 0}, Cuts: 1, Mends: 1},
			unsent(Request, func(_ *State, ev Event) bool { return ev.Kind == peercore.Connect }),
		},
		{
			"a new connection does not hear of the request", true, explore.Stuck,
			explore.Scope{Peers: 2, Requests: []int{1, 0}, Cuts: 1, Mends: 1},
			unsent(Request, func(_ *State, ev Event) bool { return ev.Kind == peercore.Connect }),
		},
	}
	for _, tt := range tests {
		alg := Options{Defer: tt.defers}.Algorithm()
		t.Run(alg.Spec+": "+tt.name, func(t *testing.T) {
			t.Parallel()
			tt.sc.Stuck = explore.StuckAnywhere
			peertest.Needed(t, tt.want, alg, tt.mutate, tt.sc)
		})
	}
}
