package live

import (
	"fmt"
	"slices"

	"locklab/reports/lang"
	"locklab/workloads/history"
)

// tour makes points about locks by doing what shows them, one stop after the other. It claims
// only what the run at hand has shown since it arrived at the stop.
type tour struct {
	stops []stop
	at    int // the stop; -1 before the first, len(stops) after the last

	switched, healed, begun bool   // what was done to arrive
	refused                 string // why the last of it was not
	arrived                 bool
	strayed                 string // what somebody did by hand, so that the stop is not shown any more
	run                     int    // of which all this is
	base, last              counts // when it was arrived at, and, once strayed, when that was
}

// stop is a lock and whether the zones are parted.
type stop struct {
	lock  string
	cut   bool
	point point
}

type point int

const (
	pointNone   point = iota // no lock makes duplicates
	pointLocal               // and so does a mutex in each master
	pointHolds               // a lock that masters share makes none
	pointSplits              // until the zones part
	pointQuorum              // a quorum lock makes none
	pointStops               // and stops instead
)

// counts are what a run came to so far.
type counts struct {
	matches, failed       int64
	duplicates, unreached int64
}

func (m *model) counts() counts {
	return counts{m.okay, m.all - m.okay, m.rooms.duplicates, m.rooms.unreachable}
}

func (c counts) since(base counts) counts {
	return counts{
		c.matches - base.matches, c.failed - base.failed,
		max(c.duplicates-base.duplicates, 0), max(c.unreached-base.unreached, 0), // a judgement may change for a while
	}
}

// newTour has the stops that the locks at hand can show.
func newTour(locks []string) tour {
	t := tour{at: -1}
	add := func(names []string, stops ...stop) {
		for _, name := range names {
			if slices.Contains(locks, name) {
				for _, s := range stops {
					s.lock = name
					t.stops = append(t.stops, s)
				}
				return
			}
		}
	}
	add([]string{"none"}, stop{point: pointNone})
	add([]string{"local"}, stop{point: pointLocal})
	add([]string{"multiphase"}, stop{point: pointHolds}, stop{point: pointSplits, cut: true})
	add([]string{"multiphase:quorum", "raft", "redlock"}, stop{point: pointQuorum}, stop{point: pointStops, cut: true})
	return t
}

// enter goes to a stop; what is out of the tour ends it.
func (t *tour) enter(at int) {
	*t = tour{stops: t.stops, at: min(max(at, -1), len(t.stops))}
}

func (t *tour) on() bool { return t.at >= 0 && t.at < len(t.stops) }

// partition is how the tour parts the zones.
const partition = `{"fault": "partition", "between": ["zones"], "mode": "hold"}`

// drive does the next thing that leads to the stop, each once: what somebody does by hand
// meanwhile is not fought. What is refused is tried again.
func (t *tour) drive(c Control, s ControlState, m *model) {
	if !t.on() {
		return
	}
	if t.run != m.number { // whatever was counted was of another run
		*t = tour{stops: t.stops, at: t.at, switched: t.switched, run: m.number}
	}
	if !s.Running || m.measureNS == 0 {
		return
	}
	want := t.stops[t.at]
	as := !want.cut && len(s.Faults) == 0 || want.cut && slices.ContainsFunc(s.Faults, ControlFault.parts)
	switch {
	case t.strayed != "":
	case s.Lock != want.lock && !t.switched:
		t.switched = t.did(c.Switch(want.lock))
	case s.Lock != want.lock:
		t.stray(lang.Key("Somebody switched to another lock."), m)
	case t.arrived && !as && want.cut:
		t.stray(lang.Key("Somebody ended the partition."), m)
	case t.arrived && !as:
		t.stray(lang.Key("Somebody broke something."), m)
	case t.arrived:
	case as:
		t.arrived, t.switched, t.base = true, true, m.counts()
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

// stray ends what the stop shows: what comes is no evidence for it.
func (t *tour) stray(why string, m *model) { t.strayed, t.last = why, m.counts() }

// parts says whether the fault is seen to keep all zones apart.
func (f ControlFault) parts() bool {
	return f.Kind == "partition" && f.Target == history.TargetZones && f.Proven && !f.Healing
}

type tourView struct {
	Number, Stops         int // Number is 0 before the first
	Step                  int // of the stop, for the page's buttons
	Ended, Strayed        bool
	Title, Text, Evidence string
	Class, Shape          string
	Says                  string // changes when the evidence says something else than before
}

// tourOf is the tour as it is shown.
func tourOf(say *lang.Lang, m *model) tourView {
	t := &m.tour
	v := tourView{Number: t.at + 1, Stops: len(t.stops), Step: t.at, Ended: t.at == len(t.stops)}
	if !t.on() {
		return v
	}
	here := t.stops[t.at]
	v.Title, v.Text = here.words(say)
	v.Class, v.Shape, v.Strayed = "none", "…", t.strayed != ""
	switch {
	case v.Strayed:
		v.Evidence = say.Term(t.strayed)
		if t.arrived {
			seen, _ := here.evidence(say, t.last.since(t.base))
			v.Evidence += " " + say.Text("Until then:") + " " + seen
		}
	case t.refused != "":
		v.Evidence = say.Recorded(t.refused) + "."
	case !t.arrived && here.cut && m.state.Running && m.state.Lock == here.lock:
		v.Evidence = say.Text("The zones are being parted.")
	case !t.arrived:
		v.Evidence = say.Sprintf("The lab is getting %s ready: a few seconds.", here.lock)
	default:
		v.Evidence, v.Class = here.evidence(say, m.counts().since(t.base))
		v.Shape = map[string]string{"ok": "✓", "bad": "✗", "none": "…"}[v.Class]
	}
	v.Says = fmt.Sprint(t.at, t.run, t.arrived, t.strayed, t.refused, v.Class)
	return v
}

// words are what a stop is about.
func (s stop) words(say *lang.Lang) (title, text string) {
	switch s.point {
	case pointNone:
		return say.Text("Without a lock there are duplicates"),
			say.Text("Players of one group arrive at the same instant, at masters in both zones. Each master looks for a free seat, finds none, and starts a room: a duplicate.")
	case pointLocal:
		return say.Text("A mutex in each master does not help"),
			say.Text("It keeps two requests of one master apart, and knows nothing of the other masters.")
	case pointHolds:
		return say.Text("Masters that ask each other make none"),
			say.Text("The multiphase lock has no server: who wants to start a room asks all the other masters first. As long as they hear each other, one room is started at a time for each group.")
	case pointSplits:
		return say.Text("Until the zones part"),
			say.Text("While nothing passes between the zones, after a moment each side takes the other for gone and goes on by itself: both are served, and both start rooms for the same group.")
	case pointQuorum:
		return say.Text("A quorum lock makes none either"),
			say.Sprintf("%s asks a majority. As long as a majority can be reached, it differs from the others only in what it costs.", s.lock)
	case pointStops:
		return say.Text("And stops instead when the zones part"),
			say.Text("A side that reaches no majority gets no lock and starts no room: its players are refused. Where one side has a majority of those who are asked, it goes on; where two masters ask each other, none has. That is the choice: duplicates, or no service where a majority is out of reach.")
	}
	return "", ""
}

const (
	// enoughMatches without a duplicate are seen to be none: without a lock there would be
	// dozens among so many.
	enoughMatches = 1000
	// enoughFailed requests, that are more than one in so many, are no accident.
	enoughFailed, oneFailedIn = 10, 10
)

// evidence is what was seen since the stop was arrived at; its class is ok if that is what the
// stop is about, bad if it is the contrary, and none as long as it is neither.
func (s stop) evidence(say *lang.Lang, c counts) (text, class string) {
	text = say.Count(c.duplicates, "In %s matches at this stop: 1 duplicate.", "In %s matches at this stop: %s duplicates.", lang.Group(c.matches))
	class = "none"
	switch s.point {
	case pointNone, pointLocal, pointSplits:
		if c.duplicates > 0 {
			class = "ok"
		}
	case pointStops:
		text += " " + say.Count(c.failed, "1 request failed.", "%s requests failed.")
		if c.duplicates > 0 {
			class = "bad"
		} else if c.failed >= enoughFailed && c.failed*oneFailedIn > c.matches {
			class = "ok"
		}
	case pointHolds, pointQuorum:
		if c.duplicates > 0 {
			class = "bad"
		} else if c.matches >= enoughMatches {
			class = "ok"
		}
	}
	if c.unreached > 0 {
		text += " " + say.Count(c.unreached, "1 more duplicate was started because the free room could not be reached: the price of going on while cut off.",
			"%s more duplicates were started because the free rooms could not be reached: the price of going on while cut off.")
	}
	return text, class
}
