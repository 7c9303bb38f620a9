package explore

import (
	"fmt"
	"slices"
	"strings"
)

// Any is any number of times, where a Scope counts something.
const Any = -1

// The most that can be explored: peers, and times of something that is counted.
const (
	PeersMost = 8
	CountMost = 250
)

// StuckCheck says in which states a peer that waits in vain is a violation.
type StuckCheck uint8

// The checks.
const (
	StuckHealed   StuckCheck = iota // where all links are up
	StuckAnywhere                   // everywhere: links that stay down are no excuse
	StuckUnchecked
)

// Scope bounds an exploration. Counts are 0 to CountMost; those of Requests, and those that say so, may
// be Any.
type Scope struct {
	Peers    int
	Requests []int // how often each peer asks for the lock; one number is for all of them
	GiveUps  int   // how often a peer gives up while waiting, or Any

	Cuts    int  // how often a link between two peers breaks
	Mends   int  // how often a link that is down comes back, or Any
	Crashes int  // how often a peer restarts, with what its core keeps on disk
	Forming bool // start with no connection, in place of all
	// Reorder lets messages on one connection overtake each other: not what the mesh does, but what
	// shows why it does not.
	Reorder bool

	// Cores with leases only.
	Expiries int // how often a lease of a peer that waits or holds runs out, or Any
	Renewals int // how often it is time to renew one, or Any
	// Untimed drops what such cores rely on: that a lease is over before the votes that were given for it.
	Untimed bool

	Bypass int // how often a waiting peer may be passed; 0 is not checked
	Stuck  StuckCheck

	StatesMax int64 // end the search when so many states were seen; 0: no bound
}

// requests is how often a peer asks.
func (sc *Scope) requests(i int) int { return sc.Requests[min(i, len(sc.Requests)-1)] }

// String says what is explored, for people.
func (sc Scope) String() string {
	requests := fmt.Sprintf("requests by peer: %s", strings.Trim(fmt.Sprint(sc.Requests), "[]"))
	if slices.Min(sc.Requests) == slices.Max(sc.Requests) {
		requests = times(sc.Requests[0], "request", "requests") + " each"
	}
	parts := []string{fmt.Sprintf("%d peers", sc.Peers), requests, times(sc.GiveUps, "give-up", "give-ups")}
	add := func(where bool, text string) {
		if where {
			parts = append(parts, text)
		}
	}
	broken := sc.Cuts+sc.Crashes > 0 || sc.Forming
	add(sc.Forming, "not connected at first")
	add(sc.Cuts > 0, times(sc.Cuts, "cut", "cuts"))
	add(sc.Crashes > 0, times(sc.Crashes, "crash", "crashes"))
	add(broken, times(sc.Mends, "reconnection", "reconnections"))
	add(!broken, "no faults")
	add(sc.Reorder, "messages overtake each other")
	return strings.Join(parts, ", ")
}

// leases says what is explored of a core with leases.
func (sc *Scope) leases() string {
	must := "end"
	if sc.Untimed {
		must = "may not end"
	}
	return fmt.Sprintf("%s, %s, votes %s after the leases that rely on them",
		times(sc.Expiries, "lease expiry", "lease expiries"), times(sc.Renewals, "renewal", "renewals"), must)
}

// times is how often something may happen.
func times(n int, one, many string) string {
	switch n {
	case Any:
		return "any number of " + many
	case 0:
		return "no " + one
	case 1:
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
