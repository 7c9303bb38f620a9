package quorum

import (
	"fmt"
	"slices"

	"locklab/locks/peerlock/peercore"
)

// scope bounds an exploration: every interleaving of what the peers may do, of
// deliveries, of timers and of faults at any moment, is visited once.
type scope struct {
	peers    int
	requests []int    // how often each peer asks for the lock
	giveUps  int      // how often anybody gives up while waiting
	cuts     [][2]int // links that break, in this order
	mends    int      // how often a cut link comes back
	crashes  []int    // peers that restart without their memory, in this order
	newborn  bool     // all start as if they had lost their memory
	apart    [][2]int // links that are down at the start, and stay so

	// Without a clock, timers may go off at any moment at which no other peer can come
	// to harm. Votes and recoveries do so any number of times.
	leases int    // how many leases end
	early  int    // how many votes end although somebody relies on them
	stay   bool   // votes don't end
	hasty  bool   // recoveries end although somebody relies on what was granted before
	clock  *clock // if there is one, timers go off by it, and the three above don't count

	options Options
	overlap bool                              // two holders are no violation, nor that tokens go back
	lapse   bool                              // that tokens go back is none
	step    func(s *State, ev Event) []Effect // in place of Step, for mutants
}

// clock is how long the timers of an exploration run, in ticks.
type clock struct {
	lease, renew, vote int
	ticks, renewals    int  // how many there are
	impatient          bool // who waits gives up in place of trying again
}

// packet is what travels on a wire: a message, or the news that the connection was
// lost or made, which come in order with the messages.
type packet struct {
	kind byte // 'm', 'd' (down), 'u' (up)
	msg  Message
}

const off = -1 // of a timer: it does not run

// world is one state of the whole system.
type world struct {
	scope    *scope
	peers    []State
	clients  []peercore.Client // what each peer's client believes, and by that all is judged
	wires    [][]packet        // FIFO from i to j at [i*n+j]
	current  []bool            // i's end of its connection to j is the live one, at [i*n+j]
	requests []int
	giveUps  int
	cuts     int // which of scope.cuts come next
	mends    int
	crashes  int
	leases   int
	early    int
	ticks    int
	renewals int
	graves   [][]uint64             // tokens to which earlier incarnations of each peer gave their votes
	timers   [][peercore.Timers]int // ticks left, or off
	since    []int                  // ticks since each peer last started Renew
	grants   []uint64               // their tokens; only the highest if they must grow
	wrong    string                 // what has been violated
	effects  func(peer int, e Effect)
}

// What an exploration can find.
const (
	twoHold   = "two peers hold the lock"
	goesBack  = "the token of a grant is not above the one before"
	twice     = "two grants have the same token"
	stuck     = "somebody waits and can never get the lock any more"
	untold    = "a peer did not tell its client whether it holds"
	unmatched = "the timers that run are not those that were started"
	tooLarge  = "more states than allowed"
)

func newWorld(sc *scope) *world {
	n := sc.peers
	w := &world{
		scope: sc, wires: make([][]packet, n*n), current: make([]bool, n*n),
		requests: slices.Clone(sc.requests), giveUps: sc.giveUps, mends: sc.mends,
		leases: sc.leases, early: sc.early, graves: make([][]uint64, n),
		timers: make([][peercore.Timers]int, n), since: make([]int, n), peers: make([]State, n), clients: make([]peercore.Client, n),
	}
	for i := range n {
		w.birth(i, sc.newborn)
	}
	for i := range n {
		for j := range n {
			if i != j && !slices.Contains(sc.apart, [2]int{min(i, j), max(i, j)}) {
				w.current[i*n+j] = true
				w.peers[i].Step(Event{Kind: peercore.Connect, Peer: j}, nil)
			}
		}
	}
	return w
}

// birth makes a new incarnation of peer i.
func (w *world) birth(i int, amnesic bool) {
	w.peers[i] = New(&Config{Self: i, Peers: peercore.Others(w.scope.peers, i), Options: w.scope.options}, amnesic)
	w.clients[i] = peercore.ClientIdle
	w.timers[i] = [peercore.Timers]int{off, off, off, off}
	w.since[i] = 0
	if amnesic && w.scope.clock != nil {
		w.timers[i][peercore.Recovery] = w.scope.clock.vote
	}
}

func (w *world) clone() *world {
	c := *w
	c.peers = make([]State, len(w.peers))
	for i := range w.peers {
		c.peers[i] = w.peers[i].Clone()
	}
	c.wires = make([][]packet, len(w.wires))
	for i := range w.wires {
		c.wires[i] = slices.Clip(w.wires[i]) // shared: whoever appends copies
	}
	c.clients = slices.Clone(w.clients)
	c.current = slices.Clone(w.current)
	c.requests = slices.Clone(w.requests)
	c.graves = slices.Clone(w.graves)
	c.timers = slices.Clone(w.timers)
	c.since = slices.Clone(w.since)
	return &c
}

func (w *world) encode(b []byte) []byte {
	for i := range w.peers {
		b = w.peers[i].AppendEncode(b)
		b = append(b, byte(w.clients[i]), byte(w.requests[i]), byte(len(w.graves[i])))
		for _, t := range w.graves[i] {
			b = append(b, byte(Counter(t)), byte(t))
		}
		if w.scope.clock != nil {
			for _, left := range w.timers[i] {
				b = append(b, byte(left))
			}
			b = append(b, byte(w.since[i]))
		}
	}
	for i, wire := range w.wires {
		up := byte(0)
		if w.current[i] {
			up = 0x80
		}
		b = append(b, byte(len(wire))|up)
		for _, p := range wire {
			b = append(b, p.kind)
			if p.kind == 'm' {
				b = Append(b, p.msg)
			}
		}
	}
	for _, left := range [...]int{w.giveUps, w.cuts, w.mends, w.crashes, w.leases, w.early, w.ticks, w.renewals} {
		b = append(b, byte(left))
	}
	for _, t := range w.grants {
		b = append(b, byte(Counter(t)), byte(t))
	}
	return b
}

// step runs one peer's core and carries out what it asks for. What is sent over a
// connection that is not the live one is lost.
func (w *world) step(i int, ev Event) {
	n := len(w.peers)
	var out []Effect
	if w.scope.step != nil {
		out = w.scope.step(&w.peers[i], ev)
	} else {
		out = w.peers[i].Step(ev, nil)
	}
	w.clients[i] = w.clients[i].Does(ev.Kind)
	for _, e := range out {
		if w.effects != nil {
			w.effects(i, e)
		}
		w.clients[i] = w.clients[i].Hears(e.Kind)
		switch e.Kind {
		case peercore.Hold:
			w.granted(e.Token)
		case peercore.Start:
			w.start(i, e.Timer)
		case peercore.Stop:
			w.timers[i][e.Timer] = off
		case peercore.Send:
			for j := range e.To.All() {
				if w.current[i*n+j] {
					w.wires[i*n+j] = append(w.wires[i*n+j], packet{kind: 'm', msg: e.Msg})
				}
			}
		}
	}
	w.check(i)
}

// granted notes the token of a grant.
func (w *world) granted(token uint64) {
	switch {
	case w.scope.lapse:
	case w.scope.overlap:
		if slices.Contains(w.grants, token) {
			w.wrong = twice
		}
		w.grants = append(slices.Clip(w.grants), token)
	default:
		if len(w.grants) > 0 && token <= w.grants[0] {
			w.wrong = goesBack
		}
		w.grants = []uint64{token}
	}
}

// start starts a timer as the shell does: the lease counts from the last Renew.
func (w *world) start(i int, t peercore.Timer) {
	c := w.scope.clock
	switch {
	case c == nil:
	case t == peercore.Renew:
		w.timers[i][t], w.since[i] = c.renew, 0
	case t == peercore.Lease:
		w.timers[i][t] = c.lease - w.since[i]
	default:
		w.timers[i][t] = c.vote
	}
}

func (w *world) check(i int) {
	holders := 0
	for j := range w.peers {
		if w.holds(j) {
			holders++
		}
	}
	switch {
	case holders > 1 && !w.scope.overlap:
		w.wrong = twoHold
	case w.wrong == "" && !w.clients[i].Knows(w.peers[i].Waits(), w.peers[i].Holds()):
		w.wrong = untold
	}
	for t := range peercore.Timers {
		if w.scope.clock != nil && w.wrong == "" && w.peers[i].Running(t) != (w.timers[i][t] != off) {
			w.wrong = fmt.Sprintf("%s: %v of %d", unmatched, t, i)
		}
	}
}

// holds and waits say what the client of peer i believes.
func (w *world) holds(i int) bool { return w.clients[i] == peercore.ClientHolds }
func (w *world) waits(i int) bool { return w.clients[i] == peercore.ClientWaits }

// lose ends the connection between i and j. Of what was on its way from i to j the
// first keep packets still arrive, before the news.
func (w *world) lose(i, j, keep int) {
	n := len(w.peers)
	w.current[i*n+j] = false
	w.wires[i*n+j] = append(slices.Clip(w.wires[i*n+j][:keep]), packet{kind: 'd'})
}

func (w *world) mend(i, j int) {
	n := len(w.peers)
	w.wires[i*n+j] = append(w.wires[i*n+j], packet{kind: 'u'})
	w.wires[j*n+i] = append(w.wires[j*n+i], packet{kind: 'u'})
}

// linked says whether a connection between i and j exists, though its ends may not
// have noticed yet.
func (w *world) linked(i, j int) bool {
	n := len(w.peers)
	up := func(a, b int) bool { // b learns of a by the wire from a to b
		for _, p := range slices.Backward(w.wires[a*n+b]) {
			if p.kind != 'm' {
				return p.kind == 'u'
			}
		}
		return w.current[b*n+a]
	}
	return up(i, j) && up(j, i)
}

// next is one world that can come next, and how if that was asked for.
type next struct {
	name  string
	world *world
}

// successors is all that can happen next, always in the same order.
func (w *world) successors(named bool) (all []next) {
	n := len(w.peers)
	add := func(c *world, format string, args ...any) {
		name := ""
		if named {
			name = fmt.Sprintf(format, args...)
		}
		all = append(all, next{name, c})
	}
	do := func(i int, ev Event, spend func(c *world), format string, args ...any) {
		c := w.clone()
		if spend != nil {
			spend(c)
		}
		c.step(i, ev)
		add(c, format, args...)
	}
	for i := range n {
		switch {
		case w.holds(i):
			do(i, Event{Kind: peercore.Leave}, nil, "%d releases", i)
		case w.waits(i) && w.giveUps > 0:
			do(i, Event{Kind: peercore.Leave}, func(c *world) { c.giveUps-- }, "%d gives up", i)
		case !w.waits(i) && w.requests[i] > 0:
			do(i, Event{Kind: peercore.Request}, func(c *world) { c.requests[i]-- }, "%d requests", i)
		}
		for j := range n {
			if len(w.wires[i*n+j]) > 0 {
				add(w.deliver(i, j), "%v", arrival{i, j, w.wires[i*n+j][0]})
			}
		}
		w.expiries(i, do)
	}
	if c := w.scope.clock; c != nil && w.ticks < c.ticks && w.mayTick() {
		add(w.tick(), "a tick")
	}
	w.faults(add)
	return all
}

// mayTick says that no lease ends now: its owner notices in time.
func (w *world) mayTick() bool {
	for i := range w.timers {
		if w.timers[i][peercore.Lease] == 0 {
			return false
		}
	}
	return true
}

func (w *world) tick() *world {
	c := w.clone()
	c.ticks++
	for i := range c.timers {
		for t := range c.timers[i] {
			if c.timers[i][t] > 0 {
				c.timers[i][t]--
			}
		}
		c.since[i] = min(c.since[i]+1, c.scope.clock.lease)
	}
	return c
}

// expiries is the timers of peer i that can go off.
func (w *world) expiries(i int, do func(i int, ev Event, spend func(c *world), format string, args ...any)) {
	expire := func(t peercore.Timer, spend func(c *world)) {
		do(i, Event{Kind: peercore.Expire, Timer: t}, func(c *world) {
			c.timers[i][t] = off
			if t == peercore.Recovery {
				c.graves[i] = nil
			}
			if spend != nil {
				spend(c)
			}
		}, "%v of %d is over", t, i)
	}
	p := &w.peers[i]
	if w.scope.clock != nil {
		for t := range peercore.Timers {
			switch {
			case t == peercore.Lease && w.timers[i][t] == 0 && w.waits(i) && w.scope.clock.impatient:
				do(i, Event{Kind: peercore.Leave}, nil, "%d gives up, its lease is over", i)
			case w.timers[i][t] != 0:
			case t == peercore.Renew && w.renewals >= w.scope.clock.renewals:
			case t == peercore.Renew:
				expire(t, func(c *world) { c.renewals++ })
			default:
				expire(t, nil)
			}
		}
		return
	}
	switch {
	case !p.Running(peercore.Lease):
	case w.leases > 0:
		expire(peercore.Lease, func(c *world) { c.leases-- })
	case w.buried(p.Uses()): // a recovery waits for it, and it is the last with this token
		expire(peercore.Lease, nil)
	}
	if p.Running(peercore.Vote) && !w.scope.stay {
		switch {
		case !w.used(p.Voted()):
			expire(peercore.Vote, nil)
		case w.early > 0:
			expire(peercore.Vote, func(c *world) { c.early-- })
		}
	}
	if p.Running(peercore.Recovery) && (w.scope.hasty || !slices.ContainsFunc(w.graves[i], w.used)) {
		expire(peercore.Recovery, nil)
	}
}

// used says that some peer relies on votes for the token.
func (w *world) used(token uint64) bool {
	for i := range w.peers {
		if w.peers[i].Uses() == token {
			return true
		}
	}
	return false
}

// arrival is a packet that has come from i to j.
type arrival struct {
	i, j int
	packet
}

func (a arrival) String() string {
	switch a.kind {
	case 'd':
		return fmt.Sprintf("%d loses %d", a.j, a.i)
	case 'u':
		return fmt.Sprintf("%d connects to %d", a.j, a.i)
	default:
		return fmt.Sprintf("%d -> %d: %v", a.i, a.j, a.msg)
	}
}

// buried says that a peer that has lost its memory had voted for the token.
func (w *world) buried(token uint64) bool {
	return slices.ContainsFunc(w.graves, func(g []uint64) bool { return slices.Contains(g, token) })
}

func (w *world) deliver(i, j int) *world {
	c := w.clone()
	c.take(i, j)
	return c
}

// take lets the next packet from i arrive at j.
func (w *world) take(i, j int) {
	n := len(w.peers)
	p := w.wires[i*n+j][0]
	w.wires[i*n+j] = w.wires[i*n+j][1:]
	switch p.kind {
	case 'd':
		w.step(j, Event{Kind: peercore.Disconnect, Peer: i})
	case 'u':
		w.current[j*n+i] = true
		w.step(j, Event{Kind: peercore.Connect, Peer: i})
	default:
		w.step(j, Event{Kind: peercore.Receive, Peer: i, Msg: p.msg})
	}
}

func (w *world) faults(add func(c *world, format string, args ...any)) {
	n := len(w.peers)
	if w.cuts < len(w.scope.cuts) {
		i, j := w.scope.cuts[w.cuts][0], w.scope.cuts[w.cuts][1]
		if w.current[i*n+j] && w.current[j*n+i] {
			for a := range len(w.wires[i*n+j]) + 1 {
				for b := range len(w.wires[j*n+i]) + 1 {
					c := w.clone()
					c.cuts++
					c.lose(i, j, a)
					c.lose(j, i, b)
					add(c, "the link of %d and %d is cut", i, j)
				}
			}
		}
	}
	if w.crashes < len(w.scope.crashes) {
		w.crash(w.scope.crashes[w.crashes], add)
	}
	for i := range n {
		for j := range i {
			if w.mends > 0 && !w.linked(i, j) && !slices.Contains(w.scope.apart, [2]int{j, i}) {
				c := w.clone()
				c.mends--
				c.mend(i, j)
				add(c, "%d and %d have a connection", j, i)
			}
		}
	}
}

// crash replaces peer i by a new incarnation, unless one of its connections is just
// coming or going. All or nothing of what it sent to each peer still arrives.
func (w *world) crash(i int, add func(c *world, format string, args ...any)) {
	n := len(w.peers)
	var linked peercore.Set
	for j := range n {
		ends := [2]bool{w.current[i*n+j], w.current[j*n+i]}
		switch {
		case j == i || (ends == [2]bool{} && len(w.wires[i*n+j])+len(w.wires[j*n+i]) == 0):
		case ends == [2]bool{true, true}:
			linked = linked.With(j)
		default:
			return
		}
	}
	for arrives := range uint64(1) << n {
		if !peercore.SetFrom(arrives).Within(linked) {
			continue
		}
		c := w.clone()
		c.crashes++
		if v := c.peers[i].vote; v.token != 0 && v.from != i {
			c.graves[i] = append(slices.Clip(c.graves[i]), v.token)
		}
		c.birth(i, true)
		for j := range linked.All() {
			keep := 0
			if peercore.SetFrom(arrives).Has(j) {
				keep = len(c.wires[i*n+j])
			}
			c.lose(i, j, keep)
			c.wires[j*n+i], c.current[j*n+i] = nil, false
		}
		add(c, "%d crashes", i)
	}
}
