package quorum

import (
	"slices"
	"testing"
	"time"

	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/peertest"
	"locklab/verify/sim"
)

func isReceived(ev Event, kind MessageKind) bool {
	return ev.Kind == peercore.Receive && ev.Msg.Kind == kind
}

// unsent is the core without one kind of message in the steps to which it applies.
func unsent(kind MessageKind, applies func(s *State, ev Event) bool) peertest.Mutation[State, Message] {
	return peertest.Unsent(func(m Message) bool { return m.Kind == kind }, applies)
}

// before changes the state or the event before a step.
func before(change func(s *State, ev *Event)) func(s *State, ev Event) []Effect {
	return func(s *State, ev Event) []Effect {
		change(s, &ev)
		return s.Step(ev, nil)
	}
}

// forgetful is the core as it once was: a vote that is free again and too late for its
// own request ends a hold, too, and nobody is told.
func forgetful(s *State, ev Event) []Effect {
	mine := func(w request) bool { return w.from == s.cfg.self }
	lent := s.phase == Acquired && slices.ContainsFunc(s.waiting, mine)
	out := s.Step(ev, nil)
	if lent && s.phase == Acquired && !slices.ContainsFunc(s.waiting, mine) && !s.votedFor(s.cfg.self) {
		out = s.settle(s.abandon(out))
	}
	return out
}

// TestForgottenHold: a vote that a holder had lent comes back, and it goes on holding.
// That takes five peers, of which no exploration sees the end: so it is shown on the way
// there, by what judges all ways.
func TestForgottenHold(t *testing.T) {
	alg := peertest.Mutate(Algorithm(), forgetful)
	if v := peertest.Follow(t, alg, explore.Scope{Peers: 5, Requests: []int{2, 1, 0, 0, 0}, GiveUps: 2}, []string{
		"0: requests", "0: gives up", "0: requests", "1: requests", "2 <- 1: MyLock(1.1)", "3 <- 1: MyLock(1.1)", "4 <- 1: MyLock(1.1)",
		"1 <- 0: MyLock(1.0)", "1 <- 0: LockReset(unused)", "1 <- 0: MyLock(2.0)",
		"1 <- 2: YourLock(1.1)", "1 <- 3: YourLock(1.1)", "1 <- 4: YourLock(1.1)", "0: gives up", "1: vote over",
	}); v != explore.Untold {
		t.Errorf("explore: want %q, got %q", explore.Untold, v)
	}
}

// leased is a lock with the leases of production.
func leased(alg peercore.Algorithm[State, Message]) peerlock.Protocol[State, Message] {
	return peerlock.Protocol[State, Message]{
		Algorithm: alg, Lease: peerlock.Lease{TTL: 2 * time.Second, Renew: 2 * time.Second / 3, Margin: 22 * time.Millisecond},
	}
}

// freesOnDisconnect is a core whose votes do not survive the connection.
func freesOnDisconnect(s *State, ev Event) []Effect {
	if ev.Kind == peercore.Disconnect && s.votedFor(ev.Peer) {
		s.free(true, nil)
	}
	return s.Step(ev, nil)
}

// TestLongHoldsAreDrawn: the vote matters for as long as somebody holds by it, so what
// frees it too early only shows when holds are long.
func TestLongHoldsAreDrawn(t *testing.T) {
	alg := peertest.Mutate(Algorithm(), freesOnDisconnect)
	peertest.SimFinds(t, sim.Overlap, leased(alg), sim.Campaign{Config: sim.Config{Load: sim.Load{Think: 20 * time.Millisecond}}})
}

// TestPausesDoNotExcuse: the second holder begins long before the lease of the first is
// over, and a pause anywhere in the run is no excuse for that.
func TestPausesDoNotExcuse(t *testing.T) {
	alg := peertest.Mutate(Algorithm(), freesOnDisconnect)
	cfg := sim.Config{Seed: 2, Load: sim.Load{Think: 20 * time.Millisecond, Hold: 5 * time.Millisecond}}
	cfg.Faults = sim.Draw(cfg, []sim.Kind{sim.Pause})
	if r := sim.New(leased(alg))(cfg); r.Bad() == nil {
		t.Errorf("want an overlap, found %v", r.Findings)
	}
}

// mutants break one rule each. For each there is a scope in which that is found, and in
// which nothing is found with the rule; where step is nil the scope breaks it.
//
// Not here are rules that only save time, which no exploration measures. Without them
// somebody waits until a vote ends, or longer, but not for ever: that requests of lost
// connections are dropped, that a vote comes back with its old floor (Return, or
// LockReset of what was not used), that LockReset precedes the next MyLock, that a lurker
// waits until nobody waits for its vote, and that a minority does not ask.
func mutants() []mutant {
	return []mutant{
		{
			rule: "who acquires tells its client", want: explore.Untold,
			sc: explore.Scope{Peers: 3, Requests: []int{1, 1, 0}}, step: peertest.Silent[State, Message](peercore.Hold),
		},
		{
			rule: "who loses its lease tells its client", want: explore.Untold,
			sc: explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Expiries: 1}, step: peertest.Silent[State, Message](peercore.Lose),
		},

		{
			rule: "it takes a majority", want: explore.TwoHold,
			sc: explore.Scope{Peers: 3, Requests: []int{1, 1, 0}},
			step: func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if s.phase == Soliciting && s.granted.Len() == s.cfg.majority()-1 {
					s.phase = Acquired
					out = append(out, Effect{Kind: peercore.Hold, Token: s.token})
				}
				return out
			},
		},
		{
			rule: "a vote is given to one at a time", want: explore.TwoHold,
			sc: explore.Scope{Peers: 3, Requests: []int{1, 1, 0}},
			step: func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, MyLock) && !s.votedFor(ev.Peer) {
					out = append(out, peertest.Reply(ev, Message{Kind: YourLock, Token: ev.Msg.Token, Seq: ev.Msg.Seq}))
				}
				return out
			},
		},
		{
			rule: "a vote survives the connection", want: explore.TwoHold,
			sc:   explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1},
			step: freesOnDisconnect,
		},
		{
			rule: "YourLock names the round that it answers", want: explore.TwoHold, apart: [2]int{0, 1},
			sc: explore.Scope{Peers: 3, Requests: []int{2, 1, 0}, GiveUps: 1},
			step: before(func(s *State, ev *Event) {
				if isReceived(*ev, YourLock) {
					ev.Msg.Token = s.token
				}
			}),
		},
		{
			rule: "every round has a token of its own", want: explore.TwoHold, apart: [2]int{0, 1},
			sc: explore.Scope{Peers: 3, Requests: []int{2, 1, 0}, GiveUps: 1},
			step: before(func(s *State, ev *Event) {
				if ev.Kind == peercore.Request {
					s.seen = 0
				}
			}),
		},
		{
			rule: "who holds does not return a vote", want: explore.TwoHold,
			sc: explore.Scope{Peers: 3, Requests: []int{1, 0, 1}},
			step: func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, Recall) && s.phase == Acquired && ev.Msg.Token == s.token {
					out = append(out, peertest.Reply(ev, Message{Kind: Return, Token: s.token}))
				}
				return out
			},
		},
		{
			rule: "an own vote that is given away counts no more", want: explore.TwoHold,
			sc: explore.Scope{Peers: 3, Requests: []int{1, 1, 0}},
			step: func(s *State, ev Event) []Effect {
				granted := s.granted
				out := s.Step(ev, nil)
				if isReceived(ev, MyLock) && s.phase == Soliciting {
					s.granted = granted
				}
				return out
			},
		},

		{
			rule: "a token that is not above F is refused", want: explore.TokenBack,
			sc:   explore.Scope{Peers: 3, Requests: []int{1, 0, 1}},
			step: before(func(s *State, _ *Event) { s.floor = 0 }),
		},
		{
			rule: "LockReset says if the token was used", want: explore.TokenBack,
			sc: explore.Scope{Peers: 3, Requests: []int{1, 0, 1}},
			step: before(func(_ *State, ev *Event) {
				if isReceived(*ev, LockReset) {
					ev.Msg.Used = false
				}
			}),
		},
		{
			rule: "LockReset on a new connection counts as used", want: explore.TokenBack, apart: [2]int{0, 2},
			sc: explore.Scope{Peers: 3, Requests: []int{1, 0, 1}, Cuts: 1, Mends: 1},
			step: func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				for i := range out {
					if ev.Kind == peercore.Connect {
						out[i].Msg.Used = false
					}
				}
				return out
			},
		},
		{
			rule: "a vote that is freed by another request counts as used", want: explore.TokenBack, apart: [2]int{0, 2},
			sc: explore.Scope{Peers: 3, Requests: []int{1, 0, 2}, GiveUps: 1, Cuts: 1, Mends: 1},
			step: before(func(s *State, ev *Event) {
				if isReceived(*ev, MyLock) && s.votedFor(ev.Peer) && s.vote.token != ev.Msg.Token {
					s.free(false, nil)
				}
			}),
		},
		{
			rule: "a vote whose time is over counts as used", want: explore.TokenBack,
			sc: explore.Scope{Peers: 3, Requests: []int{1, 0, 1}, Cuts: 1},
			step: before(func(s *State, ev *Event) {
				if ev.Kind == peercore.Expire && ev.Timer == peercore.Vote && s.Running(peercore.Vote) {
					s.free(false, nil)
				}
			}),
		},

		{
			rule: "Recall when a higher-ranking peer waits", want: explore.Stuck,
			sc: explore.Scope{Peers: 4, Requests: []int{1, 1, 0, 0}}, stays: true,
			step: unsent(Recall, func(*State, Event) bool { return true }),
		},
		{
			rule: "Recall again after the request was made again", want: explore.Stuck, apart: [2]int{0, 1},
			sc: explore.Scope{Peers: 4, Requests: []int{1, 1, 0, 0}, Cuts: 1, Mends: 1}, stays: true,
			step: unsent(Recall, func(s *State, ev Event) bool {
				return isReceived(ev, MyLock) && s.votedFor(ev.Peer) && s.vote.token == ev.Msg.Token
			}),
		},
		{
			rule: "an own vote goes to a higher-ranking peer", want: explore.Stuck,
			sc: explore.Scope{Peers: 2, Requests: []int{1, 1}},
			step: before(func(s *State, ev *Event) {
				if isReceived(*ev, MyLock) && s.phase == Soliciting && s.votedFor(s.cfg.self) {
					s.waiting.put(request{from: ev.Peer, token: ev.Msg.Token})
					ev.Kind = peercore.Wake
				}
			}),
		},
		{
			rule: "who returns a vote waits for it", want: explore.Stuck,
			sc: explore.Scope{Peers: 4, Requests: []int{1, 0, 0, 1}}, stays: true,
			step: func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, Return) {
					s.waiting.drop(ev.Peer)
				}
				return out
			},
		},
		{
			rule: "who is refused tries again", want: explore.Stuck,
			sc: explore.Scope{Peers: 3, Requests: []int{1, 0, 1}}, stays: true,
			step: before(func(_ *State, ev *Event) {
				if isReceived(*ev, Stale) {
					ev.Kind = peercore.Wake
				}
			}),
		},
		{
			rule: "a round that is over is reset", want: explore.Stuck,
			sc: explore.Scope{Peers: 2, Requests: []int{1, 1}}, stays: true,
			step: unsent(LockReset, func(*State, Event) bool { return true }),
		},
		{
			rule: "a new connection hears of the request", want: explore.Stuck,
			sc:   explore.Scope{Peers: 2, Requests: []int{1, 0}, Cuts: 1, Mends: 1},
			step: unsent(MyLock, func(_ *State, ev Event) bool { return ev.Kind == peercore.Connect }),
		},
		{
			rule: "a new connection hears that there is no request", want: explore.Stuck,
			sc: explore.Scope{Peers: 2, Requests: []int{1, 1}, GiveUps: 1, Cuts: 1, Mends: 1}, stays: true,
			step: unsent(LockReset, func(_ *State, ev Event) bool { return ev.Kind == peercore.Connect }),
		},
	}
}

type mutant struct {
	rule  string
	want  string
	sc    explore.Scope
	step  peertest.Mutation[State, Message]
	stays bool   // votes do not end by themselves
	apart [2]int // two that never meet, if any
}

// TestEveryRuleIsNeeded breaks one rule after the other: each break is found.
func TestEveryRuleIsNeeded(t *testing.T) {
	for _, m := range mutants() {
		t.Run(m.rule, func(t *testing.T) {
			t.Parallel()
			alg := apart(Algorithm(), m.apart, asItIs)
			mutant := apart(alg, m.apart, m.step)
			if m.stays {
				peertest.Needed(t, m.want, staying(alg), staying(mutant).Mutant.Step, m.sc)
			} else {
				peertest.Needed(t, m.want, alg, mutant.Mutant.Step, m.sc)
			}
		})
	}
}

// voteStays is a core whose votes do not end by themselves.
type voteStays struct{ State }

func (s *voteStays) Reset(like *voteStays, round uint64) { s.State.Reset(&like.State, round) }

func (s *voteStays) Running(t peercore.Timer) bool { return t != peercore.Vote && s.State.Running(t) }

func staying(alg peercore.Algorithm[State, Message]) peercore.Algorithm[voteStays, Message] {
	out := peercore.Algorithm[voteStays, Message]{
		Spec: alg.Spec, Append: alg.Append, Decode: alg.Decode, Opens: alg.Opens,
		New: func(self int, peers peercore.Set) voteStays { return voteStays{alg.New(self, peers)} },
	}
	out.Mutant.Step = func(s *voteStays, ev Event) []Effect { return alg.Mutant.Step(&s.State, ev) }
	return out
}

// apart is the algorithm with such steps, and two peers of it that never meet.
func apart(alg peercore.Algorithm[State, Message], pair [2]int, step peertest.Mutation[State, Message]) peercore.Algorithm[State, Message] {
	return peertest.Mutate(alg, func(s *State, ev Event) []Effect {
		if ev.Kind == peercore.Connect && pair[0] != pair[1] && pair == [2]int{min(s.cfg.self, ev.Peer), max(s.cfg.self, ev.Peer)} {
			return nil
		}
		return step(s, ev)
	})
}

// asItIs is a step of the core.
func asItIs(s *State, ev Event) []Effect { return s.Step(ev, nil) }

// TestReturnedVote: a vote that is returned counts no more, which takes five peers to see.
func TestReturnedVote(t *testing.T) {
	way := []string{
		"0: requests", "3 <- 0: MyLock(1.0)", "0 <- 3: YourLock(1.0)", "4: requests", "1 <- 4: MyLock(1.4)", "1 <- 0: MyLock(1.0)",
		"4 <- 1: YourLock(1.4)", "4 <- 1: Recall(1.4)", "1 <- 4: Return(1.4)", "0 <- 1: YourLock(1.0)", "2 <- 4: MyLock(1.4)", "4 <- 2: YourLock(1.4)",
	}
	sc := explore.Scope{Peers: 5, Requests: []int{1, 0, 0, 0, 1}}
	if v := peertest.Follow(t, Algorithm(), sc, way); v != "" {
		t.Errorf("with the rule: %s", v)
	}
	alg := peertest.Mutate(Algorithm(), func(s *State, ev Event) []Effect {
		granted := s.granted
		out := s.Step(ev, nil)
		if isReceived(ev, Recall) && s.phase == Soliciting {
			s.granted = granted
		}
		return out
	})
	if v := peertest.Follow(t, alg, sc, way); v != explore.TwoHold {
		t.Errorf("without the rule: want %q, got %q", explore.TwoHold, v)
	}
}

// TestTimes breaks the rules that are about how long a lease and a vote last: simulations find it, where
// the lease is short and the highest rank far from the two others.
func TestTimes(t *testing.T) {
	short := func(alg peercore.Algorithm[State, Message]) peerlock.Protocol[State, Message] {
		return peerlock.Protocol[State, Message]{
			Algorithm: alg, Lease: peerlock.Lease{TTL: 200 * time.Millisecond, Renew: 20 * time.Millisecond, Margin: 2 * time.Millisecond},
		}
	}
	far := sim.Fault{Kind: sim.Slow, Until: 5 * time.Second, A: []int{0}, B: []int{1, 2}, Delay: 30 * time.Millisecond}
	campaign := sim.Campaign{
		Config: sim.Config{Duration: far.Until, Load: sim.Load{Think: 20 * time.Millisecond}, Faults: []sim.Fault{far}, Jitter: 60},
		Seeds:  200, Kinds: []sim.Kind{sim.Partition},
	}
	if o := campaign.Run(t.Context(), sim.New(short(Algorithm()))); o.Bad() {
		t.Errorf("with the rules: %v", o.Groups)
	}
	for rule, step := range map[string]peertest.Mutation[State, Message]{
		"who holds stops when the lease is over": func(s *State, ev Event) []Effect {
			if ev.Kind == peercore.Expire && ev.Timer == peercore.Lease && s.phase == Acquired {
				s.due = false
				return []Effect{{Kind: peercore.Start, Timer: peercore.Renew}, {Kind: peercore.Start, Timer: peercore.Lease}}
			}
			return s.Step(ev, nil)
		},
		"who solicits stops when the lease is over": func(s *State, ev Event) []Effect {
			if ev.Kind == peercore.Expire && ev.Timer == peercore.Lease && s.phase == Soliciting {
				s.due = false
				return []Effect{{Kind: peercore.Start, Timer: peercore.Renew}, {Kind: peercore.Start, Timer: peercore.Lease}}
			}
			return s.Step(ev, nil)
		},
		"YourLock names the renewal that it answers": before(func(s *State, ev *Event) {
			if isReceived(*ev, YourLock) {
				ev.Msg.Seq = s.seq
			}
		}),
		"a renewed lease counts from when it was asked for": func(s *State, ev Event) []Effect {
			out := s.Step(ev, nil)
			if isReceived(ev, YourLock) && len(out) > 0 && out[0].Kind == peercore.Start && out[0].Timer == peercore.Lease {
				out = append([]Effect{{Kind: peercore.Start, Timer: peercore.Renew}}, out...)
			}
			return out
		},
		"a renewal takes a majority": func(s *State, ev Event) []Effect {
			out := s.Step(ev, nil)
			if s.renewing {
				s.renewing = false
				out = append(out, Effect{Kind: peercore.Start, Timer: peercore.Lease})
			}
			return out
		},
		"a renewal restarts the voter's time": func(s *State, ev Event) []Effect {
			again := isReceived(ev, MyLock) && s.votedFor(ev.Peer) && ev.Msg.Seq > 0
			out := s.Step(ev, nil)
			if again {
				out = out[1:]
			}
			return out
		},
	} {
		t.Run(rule, func(t *testing.T) {
			alg := peertest.Mutate(Algorithm(), step)
			peertest.SimFinds(t, sim.Overlap, short(alg), campaign)
		})
	}
}
