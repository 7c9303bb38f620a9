package explore

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/locks"
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
)

// Any is any number of times, where a Scope counts something.
const Any = -1

const (
	peersMost = 8
	countMost = 250 // of what is counted in one byte
	// What StatesMax and MemoryMax allow if they are zero.
	statesMost = 1 << 40
	memoryMost = 1 << 50
)

// StuckCheck says in which states a peer that waits in vain is a violation.
type StuckCheck uint8

// The checks.
const (
	StuckHealed   StuckCheck = iota // where all links are up
	StuckAnywhere                   // everywhere: links that stay down are no excuse
	StuckUnchecked
)

// Scope bounds an exploration.
type Scope struct {
	Peers    int
	Rounds   int   // how often each peer asks for the lock, or Any
	Requests []int // how often each single peer does, in place of Rounds; nil: all the same
	GiveUps  int   // how often anybody gives up while waiting, or Any

	Cuts    int // how often a link between two peers breaks
	Mends   int // how often a link that is down comes back, or Any
	Crashes int // how often a peer restarts without its memory
	// Links, if not nil, are the links that break, in this order; Cuts is then their number.
	Links [][2]int
	// Crashed, if not nil, are the peers that crash, in this order; likewise.
	Crashed []int
	Forming bool // start with no connection, in place of all
	// Down are links that are down at the start, and stay so.
	Down    [][2]int
	Newborn bool // all start as if they had lost their memory
	// Reorder lets messages on one connection overtake each other: not what the mesh
	// does, but what shows why it does not.
	Reorder bool

	// Cores with leases only.
	Expiries int // how often a lease of somebody who waits or holds runs out, or Any
	Renewals int // how often it is time to renew one, or Any
	// Untimed drops what such cores rely on: that a lease is over before the votes
	// that were given for it, and before who granted it has recovered from a crash.
	Untimed bool
	// VotesStay keeps votes until they are taken back: they don't end by themselves.
	VotesStay bool
	// Clock, if there is one, has timers go off by it, and Expiries and Untimed count not.
	Clock *Clock

	Forgets int // how often a peer forgets the resource while nobody wants it there, or Any

	Bypass int        // how often a waiting peer may be passed; 0 is not checked
	Stuck  StuckCheck // where it is checked; with Deep only dead ends are found

	StatesMax int64 // end the search when so many states were seen; 0: no bound
	MemoryMax int64 // end the search at so many bytes; 0: no bound
	Deep      bool  // keep nothing of a state but a hash of 64 bits
}

// Clock is how long timers run, in ticks; all peers' clocks tick at once.
type Clock struct {
	peerlock.Lease      // a tick is a nanosecond
	Ticks          int  // how many there are
	Impatient      bool // who waits when its lease is over gives up in place of trying again
}

// withDefaults checks the scope and fills in what follows from it.
func (sc Scope) withDefaults() (Scope, error) {
	if sc.Peers < 2 || sc.Peers > peersMost {
		return sc, fmt.Errorf("scope: %d peers, want 2 to %d: %w", sc.Peers, peersMost, locks.ErrInvalid)
	}
	sc.fillIn()
	if len(sc.Requests) != sc.Peers {
		return sc, fmt.Errorf("scope: requests of %d peers, want %d: %w", len(sc.Requests), sc.Peers, locks.ErrInvalid)
	}
	return sc, errors.Join(sc.checkCounts(), sc.checkRanks())
}

// fillIn is what zero fields stand for.
func (sc *Scope) fillIn() {
	if sc.Requests == nil {
		sc.Requests = slices.Repeat([]int{sc.Rounds}, sc.Peers)
	}
	if sc.Links != nil {
		sc.Cuts = len(sc.Links)
	}
	if sc.Crashed != nil {
		sc.Crashes = len(sc.Crashed)
	}
	sc.StatesMax = cmp.Or(sc.StatesMax, statesMost)
	sc.MemoryMax = cmp.Or(sc.MemoryMax, memoryMost)
}

func (sc *Scope) checkCounts() error {
	counts := map[string]int{
		"give-ups": sc.GiveUps, "mends": sc.Mends, "expiries": sc.Expiries, "renewals": sc.Renewals, "forgets": sc.Forgets,
	}
	for i, r := range sc.Requests {
		counts[fmt.Sprintf("rounds of peer %d", i)] = r
	}
	for what, n := range counts {
		if n < Any || n > countMost {
			return fmt.Errorf("scope: %d %s, want 0 to %d or any: %w", n, what, countMost, locks.ErrInvalid)
		}
	}
	bounds := map[string]int{"cuts": sc.Cuts, "crashes": sc.Crashes, "bypass": sc.Bypass}
	if c := sc.Clock; c != nil {
		maps.Copy(bounds, map[string]int{"lease": int(c.TTL), "renew": int(c.Renew), "vote": int(c.Takes(peercore.Vote)), "ticks": c.Ticks})
	}
	for what, n := range bounds {
		if n < 0 || n > countMost {
			return fmt.Errorf("scope: %d %s, want 0 to %d: %w", n, what, countMost, locks.ErrInvalid)
		}
	}
	if sc.StatesMax < 0 || sc.MemoryMax < 0 {
		return fmt.Errorf("scope: states and memory can't be negative: %w", locks.ErrInvalid)
	}
	return nil
}

func (sc *Scope) checkRanks() error {
	fits := func(i int) bool { return i >= 0 && i < sc.Peers }
	for _, l := range slices.Concat(sc.Links, sc.Down) {
		if !fits(l[0]) || !fits(l[1]) || l[0] == l[1] {
			return fmt.Errorf("scope: link %v of %d peers: %w", l, sc.Peers, locks.ErrInvalid)
		}
	}
	for _, i := range sc.Crashed {
		if !fits(i) {
			return fmt.Errorf("scope: crash of peer %d of %d: %w", i, sc.Peers, locks.ErrInvalid)
		}
	}
	return nil
}

// down says that the link is never up.
func (sc *Scope) down(i, j int) bool {
	return slices.Contains(sc.Down, [2]int{min(i, j), max(i, j)})
}

// String says what is explored, for people.
func (sc Scope) String() string { return strings.Join(sc.Texts(), ", ") }

// Texts say what is explored.
func (sc Scope) Texts() []string {
	sc.fillIn()
	parts := []string{fmt.Sprintf("%d peers", sc.Peers)}
	if n := sc.Requests[0]; sc.uneven() {
		parts = append(parts, fmt.Sprintf("requests by peer: %s", strings.Trim(fmt.Sprint(sc.Requests), "[]")))
	} else {
		parts = append(parts, often(n, "no request each", "1 request each", fmt.Sprintf("%d requests each", n), "any number of requests each"))
	}
	n := sc.GiveUps
	parts = append(parts, often(n, "nobody gives up", "1 give-up at any moment", fmt.Sprintf("%d give-ups at any moment", n), "any number of give-ups at any moment"))
	if n := sc.Forgets; n != 0 {
		parts = append(parts, often(n, "", "1 forgetting of an idle resource", fmt.Sprintf("%d forgettings of an idle resource", n), "any number of forgettings of an idle resource"))
	}
	if sc.Forming {
		parts = append(parts, "not connected at first")
	}
	parts = append(parts, sc.faults()...)
	if sc.Reorder {
		parts = append(parts, "messages overtake each other")
	}
	return parts
}

func (sc *Scope) faults() []string {
	var parts []string
	if sc.Cuts > 0 {
		parts = append(parts, often(sc.Cuts, "", "1 cut", fmt.Sprintf("%d cuts", sc.Cuts), "any number of cuts"))
	}
	if sc.Crashes > 0 {
		parts = append(parts, often(sc.Crashes, "", "1 crash", fmt.Sprintf("%d crashes", sc.Crashes), "any number of crashes"))
	}
	if len(parts) == 0 && !sc.Forming {
		return []string{"no faults"}
	}
	n := sc.Mends
	return append(parts, often(n, "links that are down stay down", "1 reconnection", fmt.Sprintf("%d reconnections", n), "any number of reconnections"))
}

func (sc *Scope) uneven() bool {
	return slices.ContainsFunc(sc.Requests, func(r int) bool { return r != sc.Requests[0] })
}

// leases says what is explored of a core with leases.
func (sc *Scope) leases() []string {
	last := "votes and recoveries end after the leases that rely on them"
	if sc.Untimed {
		last = "votes and recoveries may end before the leases that rely on them"
	}
	return []string{
		often(sc.Expiries, "no lease expiry", "1 lease expiry", fmt.Sprintf("%d lease expiries", sc.Expiries), "any number of lease expiries"),
		often(sc.Renewals, "no renewal", "1 renewal", fmt.Sprintf("%d renewals", sc.Renewals), "any number of renewals"),
		last,
	}
}

// often is what is said of something that may happen so often.
func often(n int, none, once, many, endless string) string {
	switch n {
	case Any:
		return endless
	case 0:
		return none
	case 1:
		return once
	}
	return many
}
