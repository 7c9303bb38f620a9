package explore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/locks"
)

// Any is any number of times, where a Scope counts something.
const Any = -1

const (
	peersMost = 8
	countMost = 250 // of what is counted in one byte
	// StatesMost is what Scope.StatesMax allows if it is zero.
	StatesMost = 1 << 40
	// MemoryMost is the same for Scope.MemoryMax, in bytes.
	MemoryMost = 1 << 50
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
	// TokensBack lets tokens go back, as they do where more memory is lost than may be.
	TokensBack bool

	Forgets int // how often a peer forgets the resource while nobody wants it there, or Any

	Bypass int        // how often a waiting peer may be passed; 0 is not checked
	Stuck  StuckCheck // where it is checked; with Deep only dead ends are found

	StatesMax int64 // end the search when so many states were seen; 0: no bound
	MemoryMax int64 // end the search at so many bytes; 0: no bound
	Deep      bool  // keep nothing of a state but a hash of 64 bits
}

// Clock is how long timers run, in ticks; all peers' clocks tick at once.
type Clock struct {
	Lease, Renew, Vote int  // Recovery takes as long as Vote
	Ticks              int  // how many there are
	Impatient          bool // who waits when its lease is over gives up in place of trying again
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
		for range sc.Peers {
			sc.Requests = append(sc.Requests, sc.Rounds)
		}
	}
	if sc.Links != nil {
		sc.Cuts = len(sc.Links)
	}
	if sc.Crashed != nil {
		sc.Crashes = len(sc.Crashed)
	}
	if sc.StatesMax == 0 {
		sc.StatesMax = StatesMost
	}
	if sc.MemoryMax == 0 {
		sc.MemoryMax = MemoryMost
	}
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
		maps.Copy(bounds, map[string]int{"lease": c.Lease, "renew": c.Renew, "vote": c.Vote, "ticks": c.Ticks})
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
func (sc Scope) String() string {
	sc.fillIn()
	parts := []string{fmt.Sprintf("%d peers", sc.Peers)}
	if sc.uneven() {
		parts = append(parts, fmt.Sprintf("%v requests", sc.Requests))
	} else if sc.Requests[0] == Any {
		parts = append(parts, "any number of requests each")
	} else {
		parts = append(parts, plural(sc.Requests[0], "request")+" each")
	}
	if sc.GiveUps == 0 {
		parts = append(parts, "nobody gives up")
	} else {
		parts = append(parts, plural(sc.GiveUps, "give-up")+" at any moment")
	}
	if sc.Forgets != 0 {
		parts = append(parts, plural(sc.Forgets, "forgetting")+" of an idle resource")
	}
	if sc.Forming {
		parts = append(parts, "not connected at first")
	}
	parts = append(parts, sc.faults()...)
	if sc.Reorder {
		parts = append(parts, "messages overtake each other")
	}
	return strings.Join(parts, ", ")
}

func (sc *Scope) faults() []string {
	var parts []string
	if sc.Cuts > 0 {
		parts = append(parts, plural(sc.Cuts, "cut"))
	}
	if sc.Crashes > 0 {
		parts = append(parts, plural(sc.Crashes, "crash"))
	}
	if len(parts) == 0 && !sc.Forming {
		return []string{"no faults"}
	}
	if sc.Mends == 0 {
		return append(parts, "links that are down stay down")
	}
	return append(parts, plural(sc.Mends, "reconnection"))
}

func (sc *Scope) uneven() bool {
	for _, r := range sc.Requests {
		if r != sc.Requests[0] {
			return true
		}
	}
	return false
}

// leases says what is explored of a core with leases.
func (sc *Scope) leases() string {
	s := plural(sc.Expiries, "lease expiry") + ", " + plural(sc.Renewals, "renewal")
	if sc.Untimed {
		return s + ", votes and recoveries may end before the leases that rely on them"
	}
	return s + ", votes and recoveries end after the leases that rely on them"
}

func plural(n int, what string) string {
	switch n {
	case Any:
		return "any number of " + pluralOf(what)
	case 0:
		return "no " + what
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %s", n, pluralOf(what))
}

func pluralOf(what string) string {
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		return stem + "ies"
	}
	if strings.HasSuffix(what, "sh") {
		return what + "es"
	}
	return what + "s"
}
