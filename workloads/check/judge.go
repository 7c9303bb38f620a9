package check

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Status is the end of the story.
type Status string

// The values of Status.
const (
	// Expected: what was seen is what the scenario expects of the lock.
	Expected Status = "expected"
	// Violated: the lock did worse (or otherwise) than expected.
	Violated Status = "violated"
	// ControlSilent: a lock that must break in this scenario did not, so the
	// scenario proves nothing about the others.
	ControlSilent Status = "control-silent"
	// Inconclusive: the run cannot decide.
	Inconclusive Status = "inconclusive"
)

// Safety is whether the resource was safe.
type Safety string

// The values of Safety.
const (
	Safe   Safety = "safe"
	Unsafe Safety = "unsafe"
)

// Expectation is what a scenario expects of a lock. Empty accepts everything.
type Expectation struct {
	Safety   Safety
	Liveness []Liveness
}

// Verdict is the outcome of one run against its expectation.
type Verdict struct {
	Status   Status
	Safety   Safety
	Liveness Liveness
	Why      string // one sentence: what decided
}

// Violations is the number of events that the lock should have prevented, and
// what they were. With the matchmaking workload these are the rooms created in
// vain, raced or overlooked; the overlaps of its holds are shown but not judged,
// because only the rooms are the resource. With the others they are overlapping
// holds and tokens that did not grow.
func (f *Findings) Violations() (int64, string) {
	if f.judgesRooms() {
		raced := f.Duplicates.Raced + f.WarmupDuplicates.Raced
		overlooked := f.Duplicates.Overlooked + f.WarmupDuplicates.Overlooked
		text := fmt.Sprintf("%d duplicate rooms (%d raced, %d overlooked)", raced+overlooked, raced, overlooked)
		if warm := f.WarmupDuplicates.Unsafe(); warm > 0 {
			text += fmt.Sprintf(", %d of them during the warm-up", warm)
		}
		return raced + overlooked, text
	}
	if f.TokensBroken == 0 {
		return f.Overlaps, fmt.Sprintf("%d overlapping holds", f.Overlaps)
	}
	return f.Overlaps + f.TokensBroken, fmt.Sprintf("%d overlapping holds and %d fencing tokens that did not grow", f.Overlaps, f.TokensBroken)
}

const workloadMatchmaking = "matchmaking"

// judgesRooms says whether the rooms are the resource, not the holds.
func (f *Findings) judgesRooms() bool {
	return f.Run.Workload == workloadMatchmaking || f.RoomsCreated > 0
}

// Judge compares what was found with what was expected. A violation where safety
// was expected is violated whatever else is wrong with the run: what was seen was
// seen. Only after the loss of a host nothing is expected any more.
// For everything else the run must be sound: faults proven, load as promised,
// history complete. What the clocks leave open is neither safe nor a violation.
func Judge(f *Findings, want Expectation) Verdict {
	n, what := f.Violations()
	v := Verdict{Safety: Safe, Liveness: f.Liveness}
	if n > 0 {
		v.Safety = Unsafe
	}
	end := func(status Status, why string) Verdict {
		v.Status, v.Why = status, why
		return v
	}
	if want.Safety == Safe && n > 0 && !f.Disturbed {
		return end(Violated, "Expected safe, but there were "+what+".")
	}
	if why := f.unsound(want); why != "" {
		return end(Inconclusive, why)
	}
	doubt := ""
	if n == 0 {
		doubt = upper(f.doubtText())
	}
	if want.Safety == Unsafe && doubt != "" {
		return end(Inconclusive, doubt)
	}
	if want.Safety == Unsafe && n == 0 {
		return end(ControlSilent, fmt.Sprintf("Expected to be unsafe, but no violation was seen in %d operations.", f.OK+f.Failed+f.Unknown))
	}
	stall := time.Duration(f.StallNS).Round(time.Millisecond)
	if !f.fares(want) {
		return end(Violated, fmt.Sprintf("Expected %s, but it was %s: the longest time with waiters and no grant was %v.",
			joinLiveness(want.Liveness), f.Liveness, stall))
	}
	switch {
	case want.Safety == Safe && doubt != "":
		return end(Inconclusive, doubt)
	case n > 0:
		return end(Expected, upper(what)+", as expected.")
	case f.Liveness == Live:
		return end(Expected, "No violation, and it stayed live.")
	case f.Liveness == Down && !f.DownLong && len(want.Liveness) > 0 && !slices.Contains(want.Liveness, Down):
		return end(Expected, fmt.Sprintf("No violation; it stalled until the fault was over, for at most %v. "+
			"The fault was too short to tell whether it would have come back before.", stall))
	default:
		return end(Expected, fmt.Sprintf("No violation; it %s, for at most %v.", verb(f.Liveness), stall))
	}
}

// fares says that liveness is as expected. What was down for a short fault may as well
// have stalled.
func (f *Findings) fares(want Expectation) bool {
	return len(want.Liveness) == 0 || slices.Contains(want.Liveness, f.Liveness) ||
		(f.Liveness == Down && !f.DownLong && slices.Contains(want.Liveness, Stalls))
}

// unsound says why the run cannot decide; "" if it can.
func (f *Findings) unsound(want Expectation) string {
	if lost := f.lossText(); lost != "" {
		return lost
	}
	if unproven := f.UnprovenFaults(); len(unproven) > 0 {
		u := unproven[0]
		more := ""
		if len(unproven) > 1 {
			more = fmt.Sprintf(", and %d more", len(unproven)-1)
		}
		why := ""
		if u.Why != "" {
			why = ": " + u.Why
		}
		return fmt.Sprintf("The fault %s (%s on %s) was not proven by the probes%s%s.", u.ID, u.Kind, u.Target, more, why)
	}
	if len(f.Behind) > 0 {
		return upper(f.Behind[0]) + "."
	}
	if len(f.Incomplete) > 0 {
		return upper(f.Incomplete[0]) + "."
	}
	if f.OK+f.Failed+f.Unknown == 0 {
		return "No operation was measured."
	}
	if !f.fares(want) && !f.Demand {
		return "Nobody asked for the lock while the fault lasted, so its liveness is not known."
	}
	return ""
}

func joinLiveness(list []Liveness) string {
	words := make([]string, len(list))
	for i, l := range list {
		words[i] = string(l)
	}
	return strings.Join(words, " or ")
}

func verb(l Liveness) string {
	if l == Down {
		return "was down"
	}
	return "stalled"
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
