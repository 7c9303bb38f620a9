package quorum

import (
	"slices"
	"testing"
	"time"

	"locklab/locks/explore"
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
	"locklab/locks/peerlock/peertest"
	"locklab/locks/sim"
)

func isReceived(ev Event, kind MessageKind) bool {
	return ev.Kind == peercore.Receive && ev.Msg.Kind == kind
}

// without leaves out what is sent of one kind.
func without(out []Effect, kind MessageKind) (rest []Effect) {
	for _, e := range out {
		if e.Kind != peercore.Send || e.Msg.Kind != kind {
			rest = append(rest, e)
		}
	}
	return rest
}

func reply(ev Event, m Message) Effect {
	return Effect{Kind: peercore.Send, To: peercore.SetOf(ev.Peer), Msg: m}
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
	mine := func(w request) bool { return w.from == s.cfg.Self }
	lent := s.phase == Acquired && slices.ContainsFunc(s.waiting, mine)
	out := s.Step(ev, nil)
	if lent && s.phase == Acquired && !slices.ContainsFunc(s.waiting, mine) && !s.votedFor(s.cfg.Self) {
		out = s.settle(s.abandon(out))
	}
	return out
}

// TestUntoldInOtherWorlds: explorations and simulations find the cores whose clients are
// not told, too.
func TestUntoldInOtherWorlds(t *testing.T) {
	alg := Options{}.Algorithm()
	shell := sim.Shell{Lease: peerlock.Lease{TTL: time.Second, Renew: time.Second / 3, Margin: 20 * time.Millisecond}}
	for _, m := range []struct {
		rule   string
		mutate peertest.Mutation[State, Message]
		sc     explore.Scope
		load   sim.Config
	}{
		{
			"who acquires tells its client", peertest.Silent[State, Message](peercore.Hold),
			explore.Scope{Peers: 3, Requests: []int{1, 1, 0}},
			sim.Config{Load: sim.Load{Think: time.Millisecond}},
		},
		{
			"who loses its lease tells its client", peertest.Silent[State, Message](peercore.Lose),
			explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Expiries: 1},
			sim.Config{Load: sim.Load{Think: time.Millisecond, Hold: time.Second}},
		},
	} {
		t.Run(m.rule, func(t *testing.T) {
			t.Parallel()
			peertest.ExploreMutant(t, explore.Untold, alg, m.sc, m.mutate)
			peertest.Explore(t, "", alg, m.sc)
			peertest.SimFinds(t, sim.Untold, peertest.Mutate(alg, m.mutate), shell, m.load)
		})
	}
}

// TestForgottenHold: a vote that a holder had lent comes back, and it goes on holding.
// That takes five peers, of which no exploration sees the end: so it is shown on the way
// there, by what judges all ways.
func TestForgottenHold(t *testing.T) {
	sc := scope{peers: 5, requests: []int{2, 1, 0, 0, 0}, giveUps: 2, step: forgetful}
	w := newWorld(&sc).follow([]string{
		"0 requests", "0 gives up", "0 requests", "1 requests",
		"1 -> 2: MyLock(1.1)", "1 -> 3: MyLock(1.1)", "1 -> 4: MyLock(1.1)",
		"0 -> 1: MyLock(1.0)", "0 -> 1: LockReset(unused)", "0 -> 1: MyLock(2.0)",
		"2 -> 1: YourLock(1.1)", "3 -> 1: YourLock(1.1)", "4 -> 1: YourLock(1.1)", "0 gives up", "vote of 1 is over",
	})
	if w.wrong != untold {
		t.Errorf("world: want %q, got %q", untold, w.wrong)
	}

	alg := peertest.Mutate(Options{}.Algorithm(), forgetful)
	walk, err := explore.NewWalk[peertest.Mutant[State, Message, *State], Message](alg, explore.Scope{
		Peers: 5, Requests: []int{2, 1, 0, 0, 0}, GiveUps: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"0: requests", "0: gives up", "0: requests", "1: requests", "2 <- 1: MyLock(1.1)", "3 <- 1: MyLock(1.1)", "4 <- 1: MyLock(1.1)",
		"1 <- 0: MyLock(1.0)", "1 <- 0: LockReset(unused)", "1 <- 0: MyLock(2.0)",
		"1 <- 2: YourLock(1.1)", "1 <- 3: YourLock(1.1)", "1 <- 4: YourLock(1.1)", "0: gives up", "1: vote over",
	} {
		if v := walk.Violation(); v != "" {
			t.Fatalf("before %q: %s", text, v)
		}
		moves := walk.Moves()
		at := slices.IndexFunc(moves, func(m explore.Move) bool { return walk.Text(m) == text })
		if at < 0 {
			t.Fatalf("%q is not possible", text)
		}
		walk.Take(moves[at])
	}
	if v := walk.Violation(); v != explore.Untold {
		t.Errorf("explore: want %q, got %q", explore.Untold, v)
	}

	shell := sim.Shell{Lease: peerlock.Lease{TTL: 2 * time.Second, Renew: 2 * time.Second / 3, Margin: 22 * time.Millisecond}}
	peertest.SimFinds(t, sim.Untold, alg, shell, sim.Config{
		Peers: 5, Seed: 62235, Network: sim.Network{Jitter: 3},
		Load: sim.Load{Think: time.Millisecond, Hold: 4 * time.Second, GiveUp: 30 * time.Millisecond},
	})
}

// freesOnDisconnect is a core whose votes do not survive the connection.
func freesOnDisconnect(s *State, ev Event) []Effect {
	if ev.Kind == peercore.Disconnect && s.votedFor(ev.Peer) {
		s.free(true, nil)
	}
	return s.Step(ev, nil)
}

// TestPausesDoNotExcuse: the second holder begins long before the lease of the first is
// over, and a pause anywhere in the run is no excuse for that.
func TestPausesDoNotExcuse(t *testing.T) {
	alg := peertest.Mutate(Options{}.Algorithm(), freesOnDisconnect)
	shell := sim.Shell{Lease: peerlock.Lease{TTL: 2 * time.Second, Renew: 2 * time.Second / 3, Margin: 22 * time.Millisecond}}
	cfg := sim.Config{Seed: 2, Load: sim.Load{Think: 20 * time.Millisecond, Hold: 5 * time.Millisecond}}
	cfg.Faults = sim.Draw(cfg, []sim.Kind{sim.Pause})
	r, err := sim.New(alg, shell).Run(cfg)
	if err != nil || r.Bad() == nil {
		t.Errorf("want an overlap, found %v, %v", r.Findings, err)
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
	byTheClock := &clock{lease: 1, vote: 2, ticks: 3, renewals: 2, impatient: true}
	return []mutant{
		{
			rule: "who acquires tells its client", want: untold,
			sc: scope{peers: 3, requests: []int{1, 1, 0}}, step: peertest.Silent[State, Message](peercore.Hold),
		},
		{
			rule: "who loses its lease tells its client", want: untold,
			sc: scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, clock: byTheClock}, step: peertest.Silent[State, Message](peercore.Lose),
		},

		{
			rule: "it takes a majority", want: twoHold,
			sc: scope{peers: 3, requests: []int{1, 1, 0}},
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
			rule: "a vote is given to one at a time", want: twoHold,
			sc: scope{peers: 3, requests: []int{1, 1, 0}},
			step: func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, MyLock) && !s.votedFor(ev.Peer) {
					out = append(out, reply(ev, Message{Kind: YourLock, Token: ev.Msg.Token, Seq: ev.Msg.Seq}))
				}
				return out
			},
		},
		{
			rule: "a vote survives the connection", want: twoHold,
			sc:   scope{peers: 3, requests: []int{1, 1, 0}, cuts: [][2]int{{0, 2}}},
			step: freesOnDisconnect,
		},
		{
			rule: "YourLock names the round that it answers", want: twoHold,
			sc: scope{peers: 3, requests: []int{2, 1, 0}, giveUps: 1, apart: [][2]int{{0, 1}}},
			step: before(func(s *State, ev *Event) {
				if isReceived(*ev, YourLock) {
					ev.Msg.Token = s.token
				}
			}),
		},
		{
			rule: "every round has a token of its own", want: twoHold,
			sc: scope{peers: 3, requests: []int{2, 1, 0}, giveUps: 1, apart: [][2]int{{0, 1}}},
			step: before(func(s *State, ev *Event) {
				if ev.Kind == peercore.Request {
					s.seen = 0
				}
			}),
		},
		{
			rule: "who holds does not return a vote", want: twoHold,
			sc: scope{peers: 3, requests: []int{1, 0, 1}},
			step: func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, Recall) && s.phase == Acquired && ev.Msg.Token == s.token {
					out = append(out, reply(ev, Message{Kind: Return, Token: s.token}))
				}
				return out
			},
		},
		{
			rule: "a vote that is returned counts no more", want: twoHold,
			sc: scope{peers: 5, requests: []int{1, 0, 0, 0, 1}, stay: true, apart: [][2]int{{0, 2}, {0, 4}, {1, 2}, {1, 3}, {2, 3}, {3, 4}}},
			step: func(s *State, ev Event) []Effect {
				granted := s.granted
				out := s.Step(ev, nil)
				if isReceived(ev, Recall) && s.phase == Soliciting {
					s.granted = granted
				}
				return out
			},
		},
		{
			rule: "an own vote that is given away counts no more", want: twoHold,
			sc: scope{peers: 3, requests: []int{1, 1, 0}},
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
			rule: "a token that is not above F is refused", want: goesBack,
			sc:   scope{peers: 3, requests: []int{1, 0, 1}},
			step: before(func(s *State, _ *Event) { s.floor = 0 }),
		},
		{
			rule: "LockReset says if the token was used", want: goesBack,
			sc: scope{peers: 3, requests: []int{1, 0, 1}},
			step: before(func(_ *State, ev *Event) {
				if isReceived(*ev, LockReset) {
					ev.Msg.Used = false
				}
			}),
		},
		{
			rule: "LockReset on a new connection counts as used", want: goesBack,
			sc: scope{peers: 3, requests: []int{1, 0, 1}, apart: [][2]int{{0, 2}}, cuts: [][2]int{{1, 2}}, mends: 1},
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
			rule: "a vote that is freed by another request counts as used", want: goesBack,
			sc: scope{peers: 3, requests: []int{1, 0, 2}, giveUps: 1, apart: [][2]int{{0, 2}}, cuts: [][2]int{{1, 2}}, mends: 1},
			step: before(func(s *State, ev *Event) {
				if isReceived(*ev, MyLock) && s.votedFor(ev.Peer) && s.vote.token != ev.Msg.Token {
					s.free(false, nil)
				}
			}),
		},
		{
			rule: "a vote whose time is over counts as used", want: goesBack,
			sc: scope{peers: 3, requests: []int{1, 0, 1}, cuts: [][2]int{{1, 2}}},
			step: before(func(s *State, ev *Event) {
				if ev.Kind == peercore.Expire && ev.Timer == peercore.Vote && s.Running(peercore.Vote) {
					s.free(false, nil)
				}
			}),
		},

		{
			rule: "a vote lasts longer than the lease", want: twoHold,
			sc:     scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, clock: &clock{lease: 1, vote: 1, ticks: 3, renewals: 2, impatient: true}},
			honest: scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, clock: byTheClock},
		},
		{
			rule: "who holds stops when the lease is over", want: twoHold,
			sc: scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, clock: byTheClock},
			step: func(s *State, ev Event) []Effect {
				if ev.Kind == peercore.Expire && ev.Timer == peercore.Lease && s.phase == Acquired {
					s.due = false
					return []Effect{{Kind: peercore.Start, Timer: peercore.Renew}, {Kind: peercore.Start, Timer: peercore.Lease}}
				}
				return s.Step(ev, nil)
			},
		},
		{
			rule: "who solicits stops when the lease is over", want: twoHold,
			sc: scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, clock: &clock{lease: 1, vote: 2, ticks: 2}},
			step: func(s *State, ev Event) []Effect {
				if ev.Kind == peercore.Expire && ev.Timer == peercore.Lease && s.phase == Soliciting {
					s.due = false
					return []Effect{{Kind: peercore.Start, Timer: peercore.Renew}, {Kind: peercore.Start, Timer: peercore.Lease}}
				}
				return s.Step(ev, nil)
			},
		},
		{
			rule: "YourLock names the renewal that it answers", want: twoHold,
			sc:     scope{peers: 3, requests: []int{1, 1, 0}, clock: &clock{lease: 1, vote: 2, ticks: 2, renewals: 2, impatient: true}},
			honest: scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, clock: byTheClock}, // the other has millions of states
			step: before(func(s *State, ev *Event) {
				if isReceived(*ev, YourLock) {
					ev.Msg.Seq = s.seq
				}
			}),
		},
		{
			rule: "a renewed lease counts from when it was asked for", want: twoHold,
			sc: scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, clock: byTheClock},
			step: func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, YourLock) && len(out) > 0 && out[0].Kind == peercore.Start && out[0].Timer == peercore.Lease {
					out = append([]Effect{{Kind: peercore.Start, Timer: peercore.Renew}}, out...)
				}
				return out
			},
		},
		{
			rule: "a renewal takes a majority", want: twoHold,
			sc: scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, clock: byTheClock},
			step: func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if s.renewing {
					s.renewing = false
					out = append(out, Effect{Kind: peercore.Start, Timer: peercore.Lease})
				}
				return out
			},
		},
		{
			rule: "a renewal restarts the voter's time", want: twoHold,
			sc: scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, clock: byTheClock},
			step: func(s *State, ev Event) []Effect {
				again := isReceived(ev, MyLock) && s.votedFor(ev.Peer) && ev.Msg.Seq > 0
				out := s.Step(ev, nil)
				if again {
					out = out[1:]
				}
				return out
			},
		},

		{
			rule: "a recovery waits until nobody relies on earlier votes", want: twoHold,
			sc:     scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, crashes: []int{2}, mends: 2, hasty: true},
			honest: scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, crashes: []int{2}, mends: 2},
		},
		{
			rule: "a recovery reads the floor of N - majority + 1 peers", want: goesBack,
			sc: scope{peers: 3, requests: []int{1, 0, 1}, apart: [][2]int{{0, 2}}, crashes: []int{1}, mends: 2, leases: 1},
			step: before(func(s *State, ev *Event) {
				if isReceived(*ev, Floor) && s.recovering && s.waited {
					s.heard = s.cfg.Peers
				}
			}),
		},
		{
			rule: "when all are recovering, all go on", want: stuck,
			sc: scope{peers: 2, requests: []int{1, 0}, newborn: true},
			step: before(func(_ *State, ev *Event) {
				if isReceived(*ev, Floor) && ev.Msg.Recovering {
					ev.Kind = peercore.Wake
				}
			}),
		},
		{
			rule: "a recovering peer asks whom it meets", want: stuck,
			sc: scope{peers: 2, requests: []int{1, 0}, crashes: []int{0}, mends: 1},
			step: func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if ev.Kind == peercore.Connect {
					out = without(out, Ask)
				}
				return out
			},
		},

		{
			rule: "Recall when a higher-ranking peer waits", want: stuck,
			sc:   scope{peers: 4, requests: []int{1, 1, 0, 0}, stay: true},
			step: func(s *State, ev Event) []Effect { return without(s.Step(ev, nil), Recall) },
		},
		{
			rule: "Recall again after the request was made again", want: stuck,
			sc: scope{peers: 4, requests: []int{1, 1, 0, 0}, stay: true, apart: [][2]int{{0, 1}}, cuts: [][2]int{{1, 2}}, mends: 1},
			step: func(s *State, ev Event) []Effect {
				again := isReceived(ev, MyLock) && s.votedFor(ev.Peer) && s.vote.token == ev.Msg.Token
				out := s.Step(ev, nil)
				if again {
					out = without(out, Recall)
				}
				return out
			},
		},
		{
			rule: "an own vote goes to a higher-ranking peer", want: stuck,
			sc: scope{peers: 2, requests: []int{1, 1}},
			step: before(func(s *State, ev *Event) {
				if isReceived(*ev, MyLock) && s.phase == Soliciting && s.votedFor(s.cfg.Self) {
					s.waiting.put(request{from: ev.Peer, token: ev.Msg.Token})
					ev.Kind = peercore.Wake
				}
			}),
		},
		{
			rule: "who returns a vote waits for it", want: stuck,
			sc: scope{peers: 4, requests: []int{1, 0, 0, 1}, stay: true},
			step: func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if isReceived(ev, Return) {
					s.waiting.drop(ev.Peer)
				}
				return out
			},
		},
		{
			rule: "who is refused tries again", want: stuck,
			sc: scope{peers: 3, requests: []int{1, 0, 1}, stay: true},
			step: before(func(_ *State, ev *Event) {
				if isReceived(*ev, Stale) {
					ev.Kind = peercore.Wake
				}
			}),
		},
		{
			rule: "a round that is over is reset", want: stuck,
			sc:   scope{peers: 2, requests: []int{1, 1}, stay: true},
			step: func(s *State, ev Event) []Effect { return without(s.Step(ev, nil), LockReset) },
		},
		{
			rule: "a new connection hears of the request", want: stuck,
			sc: scope{peers: 2, requests: []int{1, 0}, cuts: [][2]int{{0, 1}}, mends: 1},
			step: func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if ev.Kind == peercore.Connect {
					out = without(out, MyLock)
				}
				return out
			},
		},
		{
			rule: "a new connection hears that there is no request", want: stuck,
			sc: scope{peers: 2, requests: []int{1, 1}, giveUps: 1, cuts: [][2]int{{0, 1}}, mends: 1, stay: true},
			step: func(s *State, ev Event) []Effect {
				out := s.Step(ev, nil)
				if ev.Kind == peercore.Connect {
					out = without(out, LockReset)
				}
				return out
			},
		},
	}
}

type mutant struct {
	rule   string
	want   string
	sc     scope
	step   func(s *State, ev Event) []Effect
	honest scope // for the core itself, if not sc
}

// TestEveryRuleIsNeeded breaks one rule after the other: each break is found.
func TestEveryRuleIsNeeded(t *testing.T) {
	for _, m := range mutants() {
		t.Run(m.rule, func(t *testing.T) {
			t.Parallel()
			honest := m.honest
			if honest.peers == 0 {
				honest = m.sc
			}
			if v := search(honest); v.violation == m.want || v.violation == tooLarge {
				t.Errorf("with the rule: %v", v)
			} else {
				t.Logf("with the rule %q: %v", m.rule, v)
			}
			m.sc.step = m.step
			v := search(m.sc)
			if v.violation != m.want {
				t.Errorf("without the rule: want %q, got %v", m.want, v)
			}
			t.Logf("without the rule %q: %v", m.rule, v)
		})
	}
}

// TestFloorsAreReadAfterTheWait: peer 1 votes for 4 and loses its memory. 4 acquires by
// that vote after 1 has started again, and before 1 may vote. If 1 knew from earlier on
// what the others knew then, it would now let 0 have a lower token.
func TestFloorsAreReadAfterTheWait(t *testing.T) {
	way := []string{
		"4 requests", "4 -> 1: MyLock(1.4)", "1 -> 4: YourLock(1.4)", "1 crashes",
		"0 loses 1", "2 loses 1", "3 loses 1",
		"0 and 1 have a connection", "1 connects to 0", "0 connects to 1",
		"1 and 2 have a connection", "1 connects to 2", "2 connects to 1",
		"1 and 3 have a connection", "1 connects to 3", "3 connects to 1",
		"1 -> 0: LockReset(used)", "1 -> 2: LockReset(used)", "1 -> 3: LockReset(used)",
		"0 -> 1: LockReset(used)", "2 -> 1: LockReset(used)", "3 -> 1: LockReset(used)",
		"1 -> 0: Ask", "1 -> 2: Ask", "1 -> 3: Ask",
		"0 -> 1: Floor(0.0)", "2 -> 1: Floor(0.0)", "3 -> 1: Floor(0.0)",
		"4 -> 2: MyLock(1.4)", "2 -> 4: YourLock(1.4)", "4 releases", "4 -> 2: LockReset(used)",
		"recovery of 1 is over", "0 requests",
		"1 -> 0: Ask", "1 -> 2: Ask", "1 -> 3: Ask",
		"0 -> 1: MyLock(1.0)", "0 -> 3: MyLock(1.0)",
		"1 -> 0: Floor(0.0)", "1 -> 0: YourLock(1.0)", "3 -> 0: YourLock(1.0)",
	}
	sc := scope{
		peers: 5, requests: []int{1, 0, 0, 0, 1}, apart: [][2]int{{0, 2}, {0, 4}, {2, 3}, {3, 4}},
		crashes: []int{1}, mends: 3,
	}
	w := newWorld(&sc).follow(way)
	w.drain(t)
	if w.wrong != "" || !w.peers[0].Holds() || w.grants[0] <= Token(1, 4) {
		t.Errorf("with the rule: %q, 0 is %v, granted %v", w.wrong, w.peers[0].Phase(), w.grants)
	}
	sc.step = func(s *State, ev Event) []Effect {
		out := s.Step(ev, nil)
		switch early := s.recovering && !s.waited; {
		case early && ev.Kind == peercore.Connect:
			out = append(out, reply(ev, Message{Kind: Ask}))
		case early && isReceived(ev, Floor):
			s.heard, s.steady = s.heard.With(ev.Peer), s.steady.With(ev.Peer)
		}
		return out
	}
	if w := newWorld(&sc).follow(way); w.wrong != goesBack {
		t.Errorf("without the rule: want %q, got %q", goesBack, w.wrong)
	}
}
