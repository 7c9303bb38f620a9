package core

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

// ignores is the core that takes no notice of the events for which it applies.
func ignores(applies func(s *State, ev Event) bool) mutation {
	return func(s *State, ev Event) []Effect {
		if applies(s, ev) {
			return nil
		}
		return s.Step(ev, nil)
	}
}

func consentAnyway(applies func(s *State, ev Event) bool) mutation {
	return func(s *State, ev Event) []Effect {
		out := s.Step(ev, nil)
		if isReceived(ev, MyLock) && applies(s, ev) {
			if m, ok := s.Consent(ev.Peer); ok {
				out = append(out, peertest.Reply(ev, m))
			}
		}
		return out
	}
}

// TestRememberedAreLookedAtAgain: what could not be granted because of a peer that its sender did not see
// is granted when that peer is gone.
func TestRememberedAreLookedAtAgain(t *testing.T) {
	s := DefaultOptions().Algorithm().New(2, peercore.SetOf(0, 1))
	s.Step(Event{Kind: peercore.Connect, Peer: 0}, nil)
	s.Step(Event{Kind: peercore.Connect, Peer: 1}, nil)
	asked := Event{Kind: peercore.Receive, Peer: 0, Msg: Message{Kind: MyLock, Round: 1, View: peercore.SetOf(2)}}
	if out := s.Step(asked, nil); len(out) > 0 {
		t.Fatalf("granted beside a peer that is not in the view: %v", out)
	}
	if out := s.Step(Event{Kind: peercore.Disconnect, Peer: 1}, nil); len(out) != 1 || out[0].Msg.Kind != YourLock {
		t.Fatalf("not granted when that peer is gone: %v", out)
	}
}

// TestEveryRuleIsNeeded breaks one rule after the other, in the order of the table in
// which they are specified: each break is found. Those that options break are in
// TestExplore.
func TestEveryRuleIsNeeded(t *testing.T) {
	plain := explore.Scope{Peers: 3, Requests: []int{1}}
	two := explore.Scope{Peers: 2, Requests: []int{2}}
	mended := explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1, Mends: 1}
	forming := explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Forming: true, Mends: explore.Any, Stuck: explore.StuckAnywhere}
	crash := explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Crashes: 1, Mends: explore.Any, Stuck: explore.StuckAnywhere}
	phaseIs := func(p Phase) func(s *State, ev Event) bool {
		return func(s *State, _ Event) bool { return s.phase == p }
	}
	tests := []struct {
		rule   string // the one that is broken
		want   string
		sc     explore.Scope
		mutate mutation
	}{
		{"solicit: MyLock to all who are connected", explore.Stuck, two, unsent(MyLock, func(_ *State, ev Event) bool {
			return ev.Kind == peercore.Request
		})},
		{"leave: YourLock to all who are remembered", explore.Stuck, plain, unsent(YourLock, func(_ *State, ev Event) bool {
			return ev.Kind == peercore.Leave
		})},
		{"leave: LockReset to all who are connected", explore.Stuck, plain, unsent(LockReset, func(s *State, ev Event) bool {
			return ev.Kind == peercore.Leave && s.Holds()
		})},
		{"grantable: not while ACQUIRED", explore.TwoHold, mended, consentAnyway(phaseIs(Acquired))},
		{"grantable: while SOLICITING only to who ranks higher", explore.TwoHold, two, consentAnyway(phaseIs(Soliciting))},
		{"grantable: while SOLICITING to who ranks higher", explore.Stuck, two, unsent(YourLock, func(s *State, ev Event) bool {
			return isReceived(ev, MyLock) && s.phase == Soliciting
		})},
		{"request: LURKING while others are outstanding", explore.TwoHold, plain, func(s *State, ev Event) []Effect {
			if ev.Kind == peercore.Request {
				s.ForgetAsked()
			}
			return s.Step(ev, nil)
		}},
		{"request, alone: only if bootstrapped", explore.TwoHold, forming, func(s *State, ev Event) []Effect {
			s.boot = true
			return s.Step(ev, nil)
		}},
		{"request: only if bootstrapped", explore.TwoHold, explore.Scope{
			Peers: 4, Requests: []int{1, 0, 1, 0}, Forming: true, Mends: 2,
		}, func(s *State, ev Event) []Effect {
			if !s.connected.Empty() {
				s.boot = true
			}
			return s.Step(ev, nil)
		}},
		{"request, alone: ACQUIRED if bootstrapped", explore.Stuck, explore.Scope{
			Peers: 2, Requests: []int{1, 0}, Cuts: 1, Stuck: explore.StuckAnywhere,
		}, func(s *State, ev Event) []Effect {
			if ev.Kind == peercore.Disconnect && s.Waits() {
				return nil
			}
			out := s.Step(ev, nil)
			if ev.Kind == peercore.Request && s.connected.Empty() {
				s.phase = Lurking
				return nil
			}
			return out
		}},
		{"MyLock: a request that can't be granted is remembered", explore.Stuck, two, ignores(func(s *State, ev Event) bool {
			return isReceived(ev, MyLock) && s.phase == Soliciting && ev.Peer == 1
		})},
		{"MyLock: remembered while ACQUIRED too", explore.Stuck, mended, ignores(func(s *State, ev Event) bool {
			return isReceived(ev, MyLock) && s.Holds()
		})},
		{"repeated MyLock: the view is updated, and looked at again", explore.Stuck, mended, func(s *State, ev Event) []Effect {
			if isReceived(ev, MyLock) {
				before := s.Clone()
				if _, asked := before.Consent(ev.Peer); asked {
					return nil
				}
			}
			return s.Step(ev, nil)
		}},
		{"YourLock: all who were asked must consent", explore.TwoHold, plain, func(s *State, ev Event) []Effect {
			if isReceived(ev, YourLock) {
				s.consented = s.asked
			}
			return s.Step(ev, nil)
		}},
		{"LockReset: a lurker solicits when none is outstanding any more", explore.Stuck, plain, func(s *State, ev Event) []Effect {
			if isReceived(ev, LockReset) && s.phase == Lurking {
				s.ForgetAsked()
				return nil
			}
			return s.Step(ev, nil)
		}},
		{"LockReset: the request is no longer outstanding", explore.Stuck, plain, ignores(func(_ *State, ev Event) bool {
			return isReceived(ev, LockReset)
		})},
		{"debt: a lurker that gives up tells those who may wait for its turn", explore.Stuck, explore.Scope{
			Peers: 3, Requests: []int{1, 1, 2}, GiveUps: 1,
		}, unsent(LockReset, func(s *State, ev Event) bool {
			return ev.Kind == peercore.Leave && s.phase == Lurking
		})},
		{"disconnect: what the peer asked is forgotten", explore.Stuck, crash, func(s *State, ev Event) []Effect {
			if ev.Kind == peercore.Disconnect && s.phase == Lurking {
				s.Connect(s.connected.Without(ev.Peer))
				return nil
			}
			return s.Step(ev, nil)
		}},
		{"disconnect while SOLICITING: leave and ask again", explore.TwoHold, mended, func(s *State, ev Event) []Effect {
			if ev.Kind != peercore.Disconnect || s.phase != Soliciting {
				return s.Step(ev, nil)
			}
			if s.Drop(ev.Peer) {
				s.phase = Acquired
				return []Effect{{Kind: peercore.Hold}}
			}
			return nil
		}},
		{"disconnect while SOLICITING: the consents do not last", explore.TwoHold, explore.Scope{
			Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1, Mends: 1,
		}, func(s *State, ev Event) []Effect {
			if ev.Kind == peercore.Disconnect && s.phase == Soliciting {
				s.Connect(s.connected.Without(ev.Peer))
				return nil
			}
			return s.Step(ev, nil)
		}},
		{"disconnect: nothing is owed to the peer any more", explore.Stuck, explore.Scope{
			Peers: 3, Requests: []int{1, 1, 2}, Cuts: 1, Mends: 1,
		}, func(s *State, ev Event) []Effect {
			before := s.Clone()
			out := s.Step(ev, nil)
			if ev.Kind == peercore.Disconnect && before.phase == None {
				s.owed = before.owed
			}
			return out
		}},
		{"connect while LURKING: solicit if nobody is outstanding", explore.Stuck, forming, func(s *State, ev Event) []Effect {
			if ev.Kind != peercore.Connect || s.phase != Lurking {
				return s.Step(ev, nil)
			}
			before := s.Clone()
			s.Step(ev, nil)
			connected := s.connected
			*s = before
			s.Connect(connected)
			return nil
		}},
		{"connect while SOLICITING: MyLock with the wider view", explore.Stuck, mended, unsent(MyLock, func(s *State, ev Event) bool {
			return ev.Kind == peercore.Connect && s.phase == Soliciting
		})},
		{"connect while SOLICITING: MyLock to all, not only to the new one", explore.Stuck, mended, func(s *State, ev Event) []Effect {
			soliciting := s.phase == Soliciting
			out := s.Step(ev, nil)
			if ev.Kind == peercore.Connect && soliciting {
				for i := range out {
					out[i].To = peercore.SetOf(ev.Peer)
				}
			}
			return out
		}},
		// Not a danger: a holder consents to nobody, so a peer that does not know of it asks
		// in vain and is remembered. It waits SOLICITING then in place of LURKING.
		{"connect while ACQUIRED: MyLock", "", mended, unsent(MyLock, func(s *State, ev Event) bool {
			return ev.Kind == peercore.Connect && s.Holds()
		})},
		{"ACQUIRED: the client is told", explore.Untold, mended, peertest.Silent[State, Message](peercore.Hold)},
		{"disconnect while ACQUIRED: the hold goes on", explore.Untold, mended, func(s *State, ev Event) []Effect {
			out := s.Step(ev, nil)
			if ev.Kind == peercore.Disconnect && s.Holds() {
				out = s.Step(Event{Kind: peercore.Leave}, out)
			}
			return out
		}},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			peertest.Needed(t, tt.want, DefaultOptions().Algorithm(), tt.mutate, tt.sc)
		})
	}
}
