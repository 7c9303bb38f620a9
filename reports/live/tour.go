package live

import (
	"slices"

	"locklab/reports/lang"
)

// stop is one of the tour: a lock, with or without a cut between the zones, and what the page shows then.
type stop struct {
	Lock string
	Cut  bool
	Text string
}

// tourOf has the stops that the locks at hand can show. The page has a button for what leads to each.
func tourOf(locks []string) (stops []stop) {
	add := func(lock string, cut bool, text string) {
		if slices.Contains(locks, lock) {
			stops = append(stops, stop{lock, cut, text})
		}
	}
	majority := ""
	for _, lock := range []string{"redlock", "raft", "multiphase:quorum"} { // the last one at hand
		if slices.Contains(locks, lock) {
			majority = lock
		}
	}
	add("none", false,
		lang.Key("Without a lock, masters in both zones start a room for the same players: a duplicate."))
	add("local", false,
		lang.Key("A mutex in each master does not help: it knows nothing of the other masters."))
	add("multiphase", false,
		lang.Key("Masters that ask each other before they start a room make no duplicate."))
	add("multiphase", true,
		lang.Key("Until the zones part: each side takes the other for gone, and goes on by itself."))
	add(majority, false, lang.Key("A lock that asks a majority makes no duplicate either."))
	add(majority, true,
		lang.Key("When the zones part, a side without a majority refuses its players instead: no service, but no duplicate."))
	return stops
}
