package sim_test

import (
	"fmt"
	"time"

	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
	"locklab/verify/sim"
)

// toy is a core that does what a test wants, and notes what the network does wrong.
type toy struct {
	self     int
	peers    peercore.Set
	log      *ledger
	up       peercore.Set
	sent     int
	last     [8]int // of each peer on this connection; 0 before the first
	request  func(t *toy) []peercore.Effect[int]
	reaction func(t *toy, ev peercore.Event[int]) []peercore.Effect[int]
	client   peercore.Client // what it told: nothing else is hidden behind it
}

// ledger is shared by all peers of a run.
type ledger struct {
	wrong    []string
	received int
	losses   int
	tokens   uint64
}

func (t *toy) Step(ev peercore.Event[int], out []peercore.Effect[int]) []peercore.Effect[int] {
	out = t.step(ev, out)
	t.client = t.client.Does(ev.Kind)
	for _, e := range out {
		t.client = t.client.Hears(e.Kind)
	}
	return out
}

func (t *toy) Waits() bool { return t.client == peercore.ClientWaits }
func (t *toy) Holds() bool { return t.client == peercore.ClientHolds }

func (t *toy) step(ev peercore.Event[int], out []peercore.Effect[int]) []peercore.Effect[int] {
	switch ev.Kind {
	case peercore.Connect:
		if t.up.Has(ev.Peer) {
			t.complain("connected twice", ev)
		}
		t.up, t.last[ev.Peer] = t.up.With(ev.Peer), 0
	case peercore.Disconnect:
		if !t.up.Has(ev.Peer) {
			t.complain("lost what was not there", ev)
		}
		t.up = t.up.Without(ev.Peer)
		t.log.losses++
	case peercore.Receive:
		if last := t.last[ev.Peer]; !t.up.Has(ev.Peer) || last != 0 && ev.Msg != last+1 {
			t.complain(fmt.Sprintf("after message %d", last), ev)
		}
		t.last[ev.Peer] = ev.Msg
		t.log.received++
	case peercore.Request:
		t.sent++ // to all, so that every connection sees consecutive numbers
		if !t.peers.Empty() {
			out = append(out, peercore.Effect[int]{Kind: peercore.Send, To: t.peers, Msg: t.sent})
		}
		return append(out, t.request(t)...)
	case peercore.Leave, peercore.Wake, peercore.Expire:
	}
	if t.reaction != nil {
		out = append(out, t.reaction(t, ev)...)
	}
	return out
}

func (t *toy) complain(what string, ev peercore.Event[int]) {
	t.log.wrong = append(t.log.wrong, fmt.Sprintf("p%d: %s: %v from p%d, message %d", t.self, what, ev.Kind, ev.Peer, ev.Msg))
}

func (t *toy) Reset(like *toy, _ uint64) { *t = *like }
func (t *toy) Code(*peercore.Coder)      {}
func (t *toy) Round() uint64             { return 0 }
func (t *toy) String() string            { return "toy" }
func (t *toy) Idle() bool                { return false }
func (t *toy) Bootstrapped() bool        { return true }

// leasing is a simulator of toys with leases: the first holds at once, the second so much
// later, by the timer of its renewal.
func leasing(ttl, after time.Duration) sim.Simulator {
	start := func(t peercore.Timer) peercore.Effect[int] {
		return peercore.Effect[int]{Kind: peercore.Start, Timer: t}
	}
	return sim.New(peerlock.Protocol[toy, int]{Algorithm: peercore.Algorithm[toy, int]{
		New: func(self int, peers peercore.Set) toy {
			return toy{
				self: self, peers: peers, log: &ledger{},
				request: func(y *toy) []peercore.Effect[int] {
					switch {
					case y.sent > 1: // it held already
						return nil
					case y.self == 0:
						return append([]peercore.Effect[int]{start(peercore.Renew), start(peercore.Lease)}, hold(1)...)
					}
					return []peercore.Effect[int]{start(peercore.Renew)}
				},
				reaction: func(y *toy, ev peercore.Event[int]) []peercore.Effect[int] {
					switch {
					case ev.Kind == peercore.Expire && ev.Timer == peercore.Renew && y.self == 1:
						return hold(2)
					case ev.Kind == peercore.Expire && ev.Timer == peercore.Lease:
						return []peercore.Effect[int]{{Kind: peercore.Lose}}
					}
					return nil
				},
			}
		},
	}, Lease: peerlock.Lease{TTL: ttl, Renew: after, Margin: ttl / 50}})
}

// toys is a simulator of toys that answer a request so.
func toys(l *ledger, request func(t *toy) []peercore.Effect[int]) sim.Simulator {
	return sim.New(peerlock.Protocol[toy, int]{Algorithm: peercore.Algorithm[toy, int]{
		New: func(self int, peers peercore.Set) toy {
			return toy{self: self, peers: peers, log: l, request: request}
		},
	}})
}

func hold(token uint64) []peercore.Effect[int] {
	return []peercore.Effect[int]{{Kind: peercore.Hold, Token: token}}
}

func holdAtOnce(*toy) []peercore.Effect[int] { return hold(0) }
