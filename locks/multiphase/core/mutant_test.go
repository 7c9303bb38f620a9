package core_test

import (
	"testing"
	"time"

	"locklab/locks/explore"
	"locklab/locks/multiphase"
	"locklab/locks/multiphase/core"
	"locklab/locks/peerlock/peercore"
	"locklab/locks/peerlock/peertest"
	"locklab/locks/sim"
)

type mutation = peertest.Mutation[core.State, core.Message]

func isReceived(ev core.Event, kind core.MessageKind) bool {
	return ev.Kind == peercore.Receive && ev.Msg.Kind == kind
}

// unsent is the core without one kind of message in the steps for which it applies.
func unsent(kind core.MessageKind, applies func(s *core.State, ev core.Event) bool) mutation {
	return func(s *core.State, ev core.Event) []core.Effect {
		drops := applies(s, ev)
		out := s.Step(ev, nil)
		if drops {
			out = peertest.WithoutSends(out, func(m core.Message) bool { return m.Kind == kind })
		}
		return out
	}
}

// deaf is the core that takes no notice of the events for which it applies.
func deaf(applies func(s *core.State, ev core.Event) bool) mutation {
	return func(s *core.State, ev core.Event) []core.Effect {
		if applies(s, ev) {
			return nil
		}
		return s.Step(ev, nil)
	}
}

func consentAnyway(applies func(s *core.State, ev core.Event) bool) mutation {
	return func(s *core.State, ev core.Event) []core.Effect {
		out := s.Step(ev, nil)
		if isReceived(ev, core.MyLock) && applies(s, ev) {
			if m, ok := s.Consent(ev.Peer); ok {
				out = append(out, core.Effect{Kind: peercore.Send, To: peercore.SetOf(ev.Peer), Msg: m})
			}
		}
		return out
	}
}

// untold are the cores whose client does not learn that it holds, or that it holds no
// more.
func untold() map[string]mutation {
	return map[string]mutation{
		"ACQUIRED: the client is told": peertest.Silent[core.State, core.Message](peercore.Hold),
		"disconnect while ACQUIRED: the hold goes on": func(s *core.State, ev core.Event) []core.Effect {
			out := s.Step(ev, nil)
			if ev.Kind == peercore.Disconnect && s.Holds() {
				out = s.Step(core.Event{Kind: peercore.Leave}, out)
			}
			return out
		},
	}
}

// TestUntoldInOtherWorlds: random walks and simulations find these cores too.
func TestUntoldInOtherWorlds(t *testing.T) {
	alg := multiphase.Options{Rules: core.DefaultOptions()}.Algorithm()
	for name, mutate := range untold() {
		mutant := peertest.Mutate(alg, mutate)
		if !peertest.WalksInto(t, explore.Untold, mutant, explore.Scope{
			Peers: 3, Requests: []int{2, 2, 2}, Cuts: 2, Mends: explore.Any,
		}) {
			t.Errorf("%s: no walk without it finds that", name)
		}
		peertest.SimFinds(t, sim.Untold, mutant, sim.Shell{}, sim.Config{Load: sim.Load{Think: time.Millisecond, Hold: 500 * time.Millisecond}})
	}
}

// TestEveryRuleIsNeeded breaks one rule after the other, in the order of the table in
// which they are specified: each break is found. Those that options break are in
// TestExplore.
func TestEveryRuleIsNeeded(t *testing.T) {
	cut := [][2]int{{0, 1}}
	plain := explore.Scope{Peers: 3, Rounds: 1}
	two := explore.Scope{Peers: 2, Rounds: 2}
	mended := explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Links: cut, Mends: 1}
	forming := explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Forming: true, Mends: explore.Any, Stuck: explore.StuckAnywhere}
	crash := explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Crashed: []int{0}, Mends: explore.Any, Stuck: explore.StuckAnywhere}
	phaseIs := func(p core.Phase) func(s *core.State, ev core.Event) bool {
		return func(s *core.State, _ core.Event) bool { return s.Phase() == p }
	}
	tests := []struct {
		rule   string // the one that is broken
		want   string
		sc     explore.Scope
		mutate mutation
	}{
		{"solicit: MyLock to all who are connected", explore.Stuck, two, unsent(core.MyLock, func(_ *core.State, ev core.Event) bool {
			return ev.Kind == peercore.Request
		})},
		{"leave: YourLock to all who are remembered", explore.Stuck, plain, unsent(core.YourLock, func(_ *core.State, ev core.Event) bool {
			return ev.Kind == peercore.Leave
		})},
		{"leave: LockReset to all who are connected", explore.Stuck, plain, unsent(core.LockReset, func(s *core.State, ev core.Event) bool {
			return ev.Kind == peercore.Leave && s.Holds()
		})},
		{"grantable: not while ACQUIRED", explore.TwoHold, mended, consentAnyway(phaseIs(core.Acquired))},
		{"grantable: while SOLICITING only to who ranks higher", explore.TwoHold, two, consentAnyway(phaseIs(core.Soliciting))},
		{"grantable: while SOLICITING to who ranks higher", explore.Stuck, two, unsent(core.YourLock, func(s *core.State, ev core.Event) bool {
			return isReceived(ev, core.MyLock) && s.Phase() == core.Soliciting
		})},
		{"request: LURKING while others are outstanding", explore.TwoHold, plain, func(s *core.State, ev core.Event) []core.Effect {
			if ev.Kind == peercore.Request {
				s.ForgetAsked()
			}
			return s.Step(ev, nil)
		}},
		{"request, alone: only if bootstrapped", explore.TwoHold, forming, func(s *core.State, ev core.Event) []core.Effect {
			s.SetBoot()
			return s.Step(ev, nil)
		}},
		{"request: only if bootstrapped", explore.TwoHold, explore.Scope{
			Peers: 4, Requests: []int{1, 0, 1, 0}, Forming: true, Mends: 2,
		}, func(s *core.State, ev core.Event) []core.Effect {
			if !s.Connected().Empty() {
				s.SetBoot()
			}
			return s.Step(ev, nil)
		}},
		{"request, alone: ACQUIRED if bootstrapped", explore.Stuck, explore.Scope{
			Peers: 2, Requests: []int{1, 0}, Crashed: []int{1}, Stuck: explore.StuckAnywhere,
		}, func(s *core.State, ev core.Event) []core.Effect {
			if ev.Kind == peercore.Disconnect && s.Waits() {
				return nil
			}
			out := s.Step(ev, nil)
			if ev.Kind == peercore.Request && s.Connected().Empty() {
				s.Lurk()
				return nil
			}
			return out
		}},
		{"MyLock: a request that can't be granted is remembered", explore.Stuck, two, deaf(func(s *core.State, ev core.Event) bool {
			return isReceived(ev, core.MyLock) && s.Phase() == core.Soliciting && ev.Peer == 1
		})},
		{"MyLock: remembered while ACQUIRED too", explore.Stuck, mended, deaf(func(s *core.State, ev core.Event) bool {
			return isReceived(ev, core.MyLock) && s.Holds()
		})},
		{"repeated MyLock: the view is updated, and looked at again", explore.Stuck, mended, func(s *core.State, ev core.Event) []core.Effect {
			if isReceived(ev, core.MyLock) {
				before := s.Clone()
				if _, asked := before.Consent(ev.Peer); asked {
					return nil
				}
			}
			return s.Step(ev, nil)
		}},
		{"YourLock: all who were asked must consent", explore.TwoHold, plain, func(s *core.State, ev core.Event) []core.Effect {
			if isReceived(ev, core.YourLock) {
				s.ConsentedBy()
			}
			return s.Step(ev, nil)
		}},
		{"LockReset: a lurker solicits when none is outstanding any more", explore.Stuck, plain, func(s *core.State, ev core.Event) []core.Effect {
			if isReceived(ev, core.LockReset) && s.Phase() == core.Lurking {
				s.ForgetAsked()
				return nil
			}
			return s.Step(ev, nil)
		}},
		{"LockReset: the request is no longer outstanding", explore.Stuck, plain, deaf(func(_ *core.State, ev core.Event) bool {
			return isReceived(ev, core.LockReset)
		})},
		{"debt: a lurker that gives up tells those who may wait for its turn", explore.Stuck, explore.Scope{
			Peers: 3, Requests: []int{1, 1, 2}, GiveUps: 1,
		}, unsent(core.LockReset, func(s *core.State, ev core.Event) bool {
			return ev.Kind == peercore.Leave && s.Phase() == core.Lurking
		})},
		{"disconnect: what the peer asked is forgotten", explore.Stuck, crash, func(s *core.State, ev core.Event) []core.Effect {
			if ev.Kind == peercore.Disconnect && s.Phase() == core.Lurking {
				s.Connect(s.Connected().Without(ev.Peer))
				return nil
			}
			return s.Step(ev, nil)
		}},
		{"disconnect: the remembered are looked at again", explore.Stuck, explore.Scope{
			Peers: 3, Requests: []int{1, 0, 0}, Crashed: []int{1}, Stuck: explore.StuckAnywhere,
		}, unsent(core.YourLock, func(_ *core.State, ev core.Event) bool {
			return ev.Kind == peercore.Disconnect
		})},
		{"disconnect while SOLICITING: leave and ask again", explore.TwoHold, mended, func(s *core.State, ev core.Event) []core.Effect {
			if ev.Kind != peercore.Disconnect || s.Phase() != core.Soliciting {
				return s.Step(ev, nil)
			}
			if s.Drop(ev.Peer) {
				s.Acquire()
				return []core.Effect{{Kind: peercore.Hold}}
			}
			return nil
		}},
		{"disconnect while SOLICITING: the consents do not last", explore.TwoHold, explore.Scope{
			Peers: 3, Requests: []int{1, 1, 0}, Links: cut, Mends: 1,
		}, func(s *core.State, ev core.Event) []core.Effect {
			if ev.Kind == peercore.Disconnect && s.Phase() == core.Soliciting {
				s.Connect(s.Connected().Without(ev.Peer))
				return nil
			}
			return s.Step(ev, nil)
		}},
		{"disconnect: nothing is owed to the peer any more", explore.Stuck, explore.Scope{
			Peers: 3, Requests: []int{1, 1, 2}, Links: [][2]int{{0, 2}}, Mends: 1,
		}, func(s *core.State, ev core.Event) []core.Effect {
			before := s.Clone()
			out := s.Step(ev, nil)
			if ev.Kind == peercore.Disconnect && before.Phase() == core.None {
				s.Owe(&before)
			}
			return out
		}},
		{"connect while LURKING: solicit if nobody is outstanding", explore.Stuck, forming, func(s *core.State, ev core.Event) []core.Effect {
			if ev.Kind != peercore.Connect || s.Phase() != core.Lurking {
				return s.Step(ev, nil)
			}
			before := s.Clone()
			s.Step(ev, nil)
			connected := s.Connected()
			*s = before
			s.Connect(connected)
			return nil
		}},
		{"connect while SOLICITING: MyLock with the wider view", explore.Stuck, mended, unsent(core.MyLock, func(s *core.State, ev core.Event) bool {
			return ev.Kind == peercore.Connect && s.Phase() == core.Soliciting
		})},
		{"connect while SOLICITING: MyLock to all, not only to the new one", explore.Stuck, mended, func(s *core.State, ev core.Event) []core.Effect {
			soliciting := s.Phase() == core.Soliciting
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
		{"connect while ACQUIRED: MyLock", "", mended, unsent(core.MyLock, func(s *core.State, ev core.Event) bool {
			return ev.Kind == peercore.Connect && s.Holds()
		})},
	}
	for name, mutate := range untold() {
		tests = append(tests, struct {
			rule   string
			want   string
			sc     explore.Scope
			mutate mutation
		}{name, explore.Untold, mended, mutate})
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			alg := multiphase.Options{Rules: core.DefaultOptions()}.Algorithm()
			peertest.ExploreMutant(t, tt.want, alg, tt.sc, tt.mutate)
			peertest.Explore(t, "", alg, tt.sc) // the core as it is passes
		})
	}
}
