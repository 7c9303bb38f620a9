package explore

import (
	"fmt"
	"slices"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/peers"
)

// world is the peers and all that is between them, in one state, which moves change.
type world[S, M any, P peercore.Core[S, M]] struct {
	scope   Scope
	n       int // peers
	all     peers.Peers[S, M, P]
	timed   bool // cores have leases, and tokens that can be compared
	durable bool // cores keep on disk what must outlive a crash, so they have nothing to recover

	// The state.
	peers     []peer[S]
	wires     []wire[M]    // by from*n+to
	left      [counts]byte // of what the scope counts; anyByte is any number
	token     uint64       // the highest that was given
	tokenBack bool         // a lower one was given after it

	numbers  [][]uint64 // by owner, ascending, see renumber; nil leaves them as they are
	step     int        // numbers the steps of a trace; items keep it
	observe  func(peer int, e peercore.Effect[M])
	toldHold bool // in this step
	coder    peercore.Coder
}

// peer is one peer, what is left of its requests, and how often it was passed while it waits.
type peer[S any] struct {
	peers.Peer[S]
	requests, passed byte
}

// wire is what is on the way from one peer to another. It is live while its sender believes in the connection.
type wire[M any] struct {
	live  bool
	items []item[M]
}

// item is a message, or the news that the connection was lost or made, which comes in order with the messages.
type item[M any] struct {
	kind byte
	msg  M
	sent int // the step, in traces
}

const (
	itemMessage = 'm'
	itemDown    = 'd'
	itemUp      = 'u'
)

func (it *item[M]) news() bool { return it.kind == itemDown || it.kind == itemUp }

// What a scope counts for all peers together.
const (
	giveUps = iota
	cuts
	mends
	crashes
	expiries
	renewals
	counts
)

const anyByte = 255 // Any in one byte

// newWorld is a world in the state in which an exploration begins.
func newWorld[S, M any, P peercore.Core[S, M]](alg peercore.Algorithm[S, M], sc Scope) *world[S, M, P] {
	n := sc.Peers
	sample := alg.New(n-1, peercore.Others(n, n-1))
	w := &world[S, M, P]{
		scope: sc, n: n, wires: make([]wire[M], n*n),
		left: [counts]byte{
			byte(sc.GiveUps), byte(sc.Cuts), byte(sc.Mends), byte(sc.Crashes), byte(sc.Expiries), byte(sc.Renewals),
		},
	}
	w.all = peers.Peers[S, M, P]{Alg: alg, N: n, Does: w.does}
	_, w.timed = any(P(&sample)).(peercore.Timed)
	_, w.durable = any(P(&sample)).(peercore.Durable)
	if alg.Renumber != nil {
		w.numbers = make([][]uint64, n)
	}
	for i := range n {
		p := peer[S]{Peer: w.all.Start(i), requests: byte(sc.requests(i))}
		for j := range n {
			w.wire(i, j).live = !sc.Forming || j == i // and to itself it has nothing to say
			if j != i && !sc.Forming {
				met := peercore.Event[M]{Kind: peercore.Connect, Peer: j}
				peercore.Run[S, M, P](&alg, &p.State, met, nil)
			}
		}
		w.peers = append(w.peers, p)
	}
	w.renumber()
	return w
}

func (w *world[S, M, P]) wire(from, to int) *wire[M] { return &w.wires[from*w.n+to] }

// code goes through the state. Equal bytes mean equal states.
func (w *world[S, M, P]) code(c *peercore.Coder) {
	for i := range w.peers {
		p := &w.peers[i]
		c.Byte(&p.requests)
		c.Byte(&p.passed)
		c.Byte((*byte)(&p.Client))
		P(&p.State).Code(c)
	}
	code := func(it *item[M]) {
		switch c.Byte(&it.kind); {
		case it.news():
		case c.Reads:
			m, rest, err := w.all.Alg.Decode(c.Bytes[c.At:])
			if err != nil {
				panic(fmt.Sprintf("explore: %s: what Append wrote, Decode does not read: %v", w.all.Alg.Spec, err))
			}
			it.msg, c.At = m, len(c.Bytes)-len(rest)
		default:
			c.Bytes = w.all.Alg.Append(c.Bytes, it.msg)
		}
	}
	for i := range w.wires {
		if i/w.n != i%w.n {
			c.Bools(&w.wires[i].live)
			peercore.List(c, &w.wires[i].items, code)
		}
	}
	for i := range w.left {
		c.Byte(&w.left[i])
	}
	c.Bools(&w.tokenBack)
	c.Number(&w.token)
}

func (w *world[S, M, P]) encode(b []byte) []byte {
	w.coder = peercore.Coder{Bytes: b}
	w.code(&w.coder)
	return w.coder.Bytes
}

func (w *world[S, M, P]) decode(b []byte) {
	w.coder = peercore.Coder{Bytes: b, Reads: true}
	w.code(&w.coder)
}

// What an exploration can find.
const (
	TwoHold = "two peers hold the lock" // both clients were told so
	// Untold is that a core holds, or holds no more, or waits no more, and its client was not told.
	Untold  = "a peer did not tell its client whether it holds"
	Stuck   = "a peer waits and can never get the lock any more"
	Starves = "a waiting peer is passed too often"
	// TokenBack is for algorithms with fencing tokens that can be compared.
	TokenBack = "a fencing token is not above an earlier one"
)

// violation says what is wrong with the state; "" if nothing.
func (w *world[S, M, P]) violation() string {
	holders, untold := 0, false
	for i := range w.peers {
		p := &w.peers[i]
		untold = untold || !w.all.Told(&p.Peer)
		if p.Holds() {
			holders++
		}
		if w.scope.Bypass > 0 && int(p.passed) > w.scope.Bypass {
			return Starves
		}
	}
	switch {
	case holders > 1:
		return TwoHold
	case untold:
		return Untold
	case w.tokenBack:
		return TokenBack
	}
	return ""
}

// mustGetOn is the peers that wait and may not be stuck there, one bit for each.
func (w *world[S, M, P]) mustGetOn() byte {
	if w.scope.Stuck == StuckUnchecked || w.scope.Stuck == StuckHealed && !w.healed() {
		return 0
	}
	return w.which((*peers.Peer[S]).Waits)
}

// which is the peers of which says is true, one bit for each.
func (w *world[S, M, P]) which(says func(p *peers.Peer[S]) bool) (bits byte) {
	for i := range w.peers {
		if says(&w.peers[i].Peer) {
			bits |= 1 << i
		}
	}
	return bits
}

// healed says that all are connected to all and know it.
func (w *world[S, M, P]) healed() bool {
	return !slices.ContainsFunc(w.wires, func(wire wire[M]) bool { return !wire.live })
}

// does carries out an effect. Timers run or not by what Running says.
func (w *world[S, M, P]) does(i int, e *peercore.Effect[M], _ peercore.Client) {
	if w.observe != nil {
		w.observe(i, *e)
	}
	switch e.Kind { //nolint:exhaustive // see above
	case peercore.Send:
		w.send(i, e)
	case peercore.Hold:
		w.toldHold = true
		if !w.timed || e.Token == 0 {
			return
		}
		if w.tokenBack = peers.Stale(e.Token, w.token); !w.tokenBack {
			w.token = e.Token
		}
	}
}

// send puts a message on the wires of its receivers, but for those that are not live.
func (w *world[S, M, P]) send(i int, e *peercore.Effect[M]) {
	for j := range e.To.All() {
		if wire := w.wire(i, j); wire.live {
			wire.items = append(wire.items, item[M]{itemMessage, e.Msg, w.step})
		}
	}
}

// renumber makes the numbers of the state small: those of an owner keep their order, and zero. An owner counts
// up its own only, so a new one is above all others.
func (w *world[S, M, P]) renumber() {
	if w.numbers == nil {
		return
	}
	for owner := range w.numbers {
		w.numbers[owner] = w.numbers[owner][:0]
	}
	w.eachNumber(w.mention)
	if slices.ContainsFunc(w.numbers, hasGaps) {
		w.eachNumber(w.place)
	}
}

// eachNumber replaces every number of the state by what f makes of it.
func (w *world[S, M, P]) eachNumber(f func(owner int, number uint64) uint64) {
	for i := range w.peers {
		any(P(&w.peers[i].State)).(peercore.Numbered).Renumber(f)
	}
	for i := range w.wires {
		for k := range w.wires[i].items {
			if it := &w.wires[i].items[k]; !it.news() {
				w.all.Alg.Renumber(&it.msg, i/w.n, i%w.n, f)
			}
		}
	}
}

func (w *world[S, M, P]) mention(owner int, number uint64) uint64 {
	if at, known := slices.BinarySearch(w.numbers[owner], number); !known {
		w.numbers[owner] = slices.Insert(w.numbers[owner], at, number)
	}
	return number
}

// place is 1 for the smallest number of the owner, and so on; zero stays.
func (w *world[S, M, P]) place(owner int, number uint64) uint64 {
	at, _ := slices.BinarySearch(w.numbers[owner], number)
	if w.numbers[owner][0] > 0 {
		at++
	}
	return uint64(at) //nolint:gosec // never negative
}

// hasGaps says that a number is not its place.
func hasGaps(numbers []uint64) bool {
	n := len(numbers)
	return n > 0 && numbers[n-1] != uint64(n-1) && (numbers[0] == 0 || numbers[n-1] != uint64(n))
}
