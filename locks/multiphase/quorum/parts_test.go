package quorum

import (
	"testing"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/peertest"
)

// TestProductionParts explores what a peer of many resources does in production: its
// control state recovers for all of them, and resources that nobody wants are forgotten.
func TestProductionParts(t *testing.T) {
	alg := Options{}.Algorithm()
	crash := explore.Scope{Peers: 2, Requests: []int{2, 1}, GiveUps: 1, Expiries: 1, Crashes: 1, Mends: explore.Any}
	three := explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Crashes: 1, Mends: 2}
	forgets := explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, GiveUps: 1, Forgets: explore.Any}
	both := explore.Scope{Peers: 2, Requests: []int{2, 1}, Crashes: 1, Mends: explore.Any, Forgets: explore.Any}
	for name, sc := range map[string]explore.Scope{"a crash": crash, "forgetting": forgets, "both": both} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peertest.Explore(t, "", alg, sc)
		})
	}
	untimed := three
	untimed.Untimed = true
	t.Run("recoveries end too early", func(t *testing.T) {
		t.Parallel()
		peertest.Explore(t, explore.TwoHold, alg, untimed)
	})
	for _, m := range []struct {
		rule   string
		want   string
		sc     explore.Scope
		mutate peertest.Mutation[State, Message]
	}{
		{"a control state reads the floor of others", explore.TokenBack, crash, before(func(s *State, _ *Event) {
			if s.cfg.Part == Control && s.recovering {
				s.heard = s.cfg.Peers
			}
		})},
		{"a control state tells resources what was used", explore.TokenBack, crash, before(func(_ *State, ev *Event) {
			if ev.Kind == peercore.Recover {
				ev.Round = 0
			}
		})},
		{"a control state answers with what its resources used", explore.TokenBack, crash, before(func(s *State, ev *Event) {
			if s.cfg.Part == Control {
				ev.Round = 0
			}
		})},
		{"a resource goes on when its control state has recovered", explore.Stuck, crash, before(func(_ *State, ev *Event) {
			if ev.Kind == peercore.Recover {
				ev.Kind = peercore.Wake
			}
		})},
		{"a recovering resource does not vote", explore.TwoHold, three, before(func(s *State, _ *Event) {
			if s.cfg.Part == Resource {
				s.recovering = false
			}
		})},
	} {
		t.Run("without: "+m.rule, func(t *testing.T) {
			t.Parallel()
			peertest.Explore(t, m.want, peertest.Mutate(alg, m.mutate), m.sc)
		})
	}
	t.Run("without: a vote is kept", func(t *testing.T) {
		t.Parallel()
		careless := alg
		careless.Mutant.Idle = func(s *State) bool { return s.phase == None }
		peertest.Explore(t, explore.TwoHold, careless, forgets)
	})
}
