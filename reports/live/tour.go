package live

import (
	"slices"

	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/workloads/history"
)

// tour is a guide in stops: it switches locks and breaks links itself, and claims only what the run has
// shown since it arrived at the stop.
type tour struct {
	stops []stop
	at    int // the stop; -1 before the first, len(stops) after the last

	switched, healed, begun bool   // done to arrive, each once
	refused                 string // why the lab refused the last of them
	arrived                 bool
	run                     int // of which all this is
	base                    counts
}

// stop is a lock, with or without a cut between the zones, and the effect to be seen.
type stop struct {
	lock  string
	cut   bool
	shows shown
	text  string
}

type shown int

const (
	duplicates   shown = iota // there are some
	noDuplicates              // there are none in many matches
	refusals                  // requests fail instead
)

// counts are those of a run so far.
type counts struct{ matches, failed, duplicates, unreached int64 }

func (c counts) since(base counts) counts {
	return counts{
		c.matches - base.matches, c.failed - base.failed,
		max(c.duplicates-base.duplicates, 0), max(c.unreached-base.unreached, 0), // a judgement may change for a while
	}
}

// newTour has the stops that the locks at hand can show.
func newTour(locks []string) tour {
	t := tour{at: -1}
	add := func(lock string, cut bool, shows shown, text string) {
		if slices.Contains(locks, lock) {
			t.stops = append(t.stops, stop{lock, cut, shows, text})
		}
	}
	majority := ""
	for _, lock := range []string{"redlock", "raft", "multiphase:quorum"} { // the last one at hand
		if slices.Contains(locks, lock) {
			majority = lock
		}
	}
	add("none", false, duplicates,
		lang.Key("Without a lock, masters in both zones start a room for the same players: a duplicate."))
	add("local", false, duplicates,
		lang.Key("A mutex in each master does not help: it knows nothing of the other masters."))
	add("multiphase", false, noDuplicates,
		lang.Key("Masters that ask each other before they start a room make no duplicate."))
	add("multiphase", true, duplicates,
		lang.Key("Until the zones part: each side takes the other for gone, and goes on by itself."))
	add(majority, false, noDuplicates, lang.Key("A lock that asks a majority makes no duplicate either."))
	add(majority, true, refusals,
		lang.Key("When the zones part, a side without a majority refuses its players instead: no service, but no duplicate."))
	return t
}

// enter goes to a stop; a number outside of the tour ends it.
func (t *tour) enter(at int) {
	*t = tour{stops: t.stops, at: min(max(at, -1), len(t.stops))}
}

func (t *tour) on() bool { return t.at >= 0 && t.at < len(t.stops) }

// partition is how the tour parts the zones.
const partition = `{"fault": "partition", "between": ["zones"], "mode": "hold"}`

// drive does the next thing that leads to the stop, each once, and tries again what was refused. A
// viewer who changes something by hand ends the tour.
func (t *tour) drive(c Control, s ControlState, run int, measured bool, now counts) {
	if !t.on() {
		return
	}
	if t.run != run { // the counts were of another run
		*t = tour{stops: t.stops, at: t.at, switched: t.switched, run: run}
	}
	if !s.Running || !measured {
		return
	}
	want := t.stops[t.at]
	other := s.Lock != want.lock
	there := !other && (!want.cut && len(s.Faults) == 0 || want.cut && slices.ContainsFunc(s.Faults, ControlFault.parts))
	switch {
	case there && t.arrived:
	case there:
		t.arrived, t.switched, t.base = true, true, now
	case t.arrived || other && t.switched:
		t.enter(-1)
	case other:
		t.switched = t.did(c.Switch(want.lock))
	case len(s.Faults) > 0 && !t.healed:
		t.healed = t.did(c.Heal(""))
	case want.cut && len(s.Faults) == 0 && !t.begun:
		t.begun = t.did(c.Begin([]byte(partition)))
		t.healed = t.begun
	}
}

// did keeps why something was refused.
func (t *tour) did(err error) bool {
	t.refused = ""
	if err != nil {
		t.refused = err.Error()
	}
	return err == nil
}

// parts says whether the fault is seen to keep all zones apart.
func (f ControlFault) parts() bool {
	return f.Kind == "partition" && f.Target == history.TargetZones && f.Proven && !f.Healing
}

func (c counts) text(say *lang.Lang) string {
	return say.Sprintf("At this stop: matches %s, duplicates %s, unreachable %s, failed requests %s.",
		sentence.Group(c.matches), sentence.Group(c.duplicates), sentence.Group(c.unreached), sentence.Group(c.failed))
}

const (
	// enoughMatches without a duplicate count as none: without a lock there would be dozens.
	enoughMatches = 1000
	// enoughFailed requests, that are more than one in so many, are no accident.
	enoughFailed, oneFailedIn = 10, 10
)

// judge is ok if the run showed the effect, bad if it showed the contrary, and none before either.
func (s stop) judge(c counts) string {
	switch {
	case s.shows == duplicates && c.duplicates > 0,
		s.shows == noDuplicates && c.duplicates == 0 && c.matches >= enoughMatches,
		s.shows == refusals && c.duplicates == 0 && c.failed >= enoughFailed && c.failed*oneFailedIn > c.matches:
		return "ok"
	case s.shows != duplicates && c.duplicates > 0:
		return "bad"
	}
	return "none"
}
