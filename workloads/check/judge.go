package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/workloads/history"
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
	// NotJudged: the scenario expects nothing of the lock, so there is no verdict on it.
	NotJudged Status = "not-judged"
)

// Safety is whether the resource was safe.
type Safety string

// The values of Safety.
const (
	Safe   Safety = "safe"
	Unsafe Safety = "unsafe"
	// SafetyNotJudged: no violation was seen, but none had to show either: that proves
	// nothing, so the lock is not called safe.
	SafetyNotJudged Safety = "not-judged"
)

// Expectation is what a scenario expects of a lock. What is empty is not judged.
type Expectation struct {
	Safety   Safety
	Liveness []Liveness
	// Availability is the least share of operations that must end ok.
	Availability history.Availability
}

// ExpectationOf is what the history says of itself, so that whoever judges it judges
// alike. Of an older file, which says nothing, safety is expected.
func ExpectationOf(run history.Run) Expectation {
	if run.Expect == nil {
		return Expectation{Safety: Safe}
	}
	want := Expectation{Safety: Safety(run.Expect.Safety), Availability: run.Expect.Availability}
	for _, l := range run.Expect.Liveness {
		want.Liveness = append(want.Liveness, Liveness(l))
	}
	return want
}

// judges says whether anything is expected.
func (e Expectation) judges() bool {
	return e.Safety != "" || len(e.Liveness) > 0 || e.Availability != history.Availability{}
}

// Verdict is the outcome of one run against its expectation.
type Verdict struct {
	Status   Status
	Safety   Safety
	Liveness Liveness
	Why      string // one sentence: what decided
}

// Violations is the number of events that the lock should have prevented, and
// what they were: rooms created in vain, raced or overlooked, holds that overlap, and
// tokens that did not grow. That overlapping holds led to no room too many was luck.
func (f *Findings) Violations() (int64, string) {
	var parts []string
	duplicates := f.Duplicates.Unsafe() + f.WarmupDuplicates.Unsafe()
	if duplicates > 0 {
		text := fmt.Sprintf("%d duplicate rooms (%d raced, %d overlooked)", duplicates,
			f.Duplicates.Raced+f.WarmupDuplicates.Raced, f.Duplicates.Overlooked+f.WarmupDuplicates.Overlooked)
		if warm := f.WarmupDuplicates.Unsafe(); warm > 0 {
			text += fmt.Sprintf(", %d of them during the warm-up", warm)
		}
		parts = append(parts, text)
	}
	if f.Overlaps > 0 {
		text := plural(f.Overlaps, "overlap") + " of holds"
		if f.OverlapHolds > f.Overlaps {
			text += fmt.Sprintf(" (%d began while another one was believed)", f.OverlapHolds)
		}
		parts = append(parts, text)
	}
	if f.TokensBroken > 0 {
		parts = append(parts, plural(f.TokensBroken, "fencing token")+" that did not grow")
	}
	return duplicates + f.Overlaps + f.TokensBroken, strings.Join(parts, " and ")
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Judge compares what was found with what was expected. A violation where safety
// was expected is violated whatever else is wrong with the run: what was seen was
// seen. Only after a loss that nobody asked for, or after a fault was asked for that
// nothing proves, or on a machine that was saturated, or in a run that was given up, or
// from records that contradict each other, nothing is expected any more.
// For everything else the run must be sound: faults proven, load as promised,
// history complete. What the clocks leave open is neither safe nor a violation.
func Judge(f *Findings, want Expectation) Verdict {
	n, what := f.Violations()
	v := Verdict{Safety: Safe, Liveness: f.Liveness}
	switch {
	case n > 0:
		v.Safety = Unsafe
	case want.Safety == "":
		v.Safety = SafetyNotJudged
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
	if why := f.fellShort(want); why != "" {
		if full := f.fullMachine(); full != "" {
			return end(Inconclusive, why+" That may be the machine's doing: "+full+".")
		}
		return end(Violated, why)
	}
	if want.Safety == Safe && doubt != "" {
		return end(Inconclusive, doubt)
	}
	if !want.judges() {
		return end(NotJudged, "The scenario expects nothing of this lock. "+upper(f.told(want))+".")
	}
	return end(Expected, upper(f.told(want))+".")
}

// fellShort says what the lock did too late, or not at all; "" if nothing.
func (f *Findings) fellShort(want Expectation) string {
	if f.fares(want) {
		return f.unserved(want.Availability)
	}
	return fmt.Sprintf("Expected %s, but it was %s%s: the longest time with waiters and no grant was %v.",
		joinLiveness(want.Liveness), f.Liveness, f.forWhat(), time.Duration(f.StallNS).Round(time.Millisecond))
}

// unserved says where too few operations ended ok; "" if nowhere. A fault that was over
// before a failover could be tells nothing of it.
func (f *Findings) unserved(want history.Availability) string {
	text := func(when string, got Served, want float64) string {
		return fmt.Sprintf("Expected that at least %.4g %% of the operations %s end ok, but of %d only %.1f %% did.",
			100*want, when, got.All, 100*got.Share())
	}
	switch {
	case f.Outside.below(want.Outside):
		return text("that no fault touched", f.Outside, want.Outside)
	case f.During.below(want.During) && f.FaultsNS >= int64(FailoverTime):
		return text("while a fault was in force", f.During, want.During)
	}
	return ""
}

// told says what was seen of a lock that is as expected, and what of it was judged.
func (f *Findings) told(want Expectation) string {
	n, what := f.Violations()
	stall := time.Duration(f.StallNS).Round(time.Millisecond)
	safety := "no violation"
	switch {
	case n > 0 && want.Safety != "":
		safety = what + ", as expected"
	case n > 0:
		safety = what
	case want.Safety == "":
		safety = "no violation was seen"
	}
	liveness := ", and it stayed live"
	switch {
	case f.Liveness == Down && !f.DownLong && len(want.Liveness) > 0 && !slices.Contains(want.Liveness, Down):
		liveness = fmt.Sprintf("; it stalled until the fault was over, for at most %v: "+
			"too short a fault to tell whether it would have come back before", stall)
	case f.Liveness != Live:
		liveness = fmt.Sprintf("; it %s%s, for at most %v", verb(f.Liveness), f.forWhat(), stall)
	}
	text := safety + liveness
	switch {
	case !want.judges():
	case want.Safety == "" && len(want.Liveness) == 0:
		text += ". Only its availability was judged"
	case want.Safety == "":
		text += ". Its safety was not judged"
	case len(want.Liveness) == 0:
		text += ". Its liveness was not judged"
	}
	return text
}

// forWhat names the resource that fared worst, where others fared better.
func (f *Findings) forWhat() string {
	if f.StuckResource == "" {
		return ""
	}
	return " for " + f.StuckResource
}

// fares says that liveness is as expected. What was down for a short fault may as well
// have stalled.
func (f *Findings) fares(want Expectation) bool {
	return len(want.Liveness) == 0 || slices.Contains(want.Liveness, f.Liveness) ||
		(f.Liveness == Down && !f.DownLong && slices.Contains(want.Liveness, Stalls))
}

// unsound says why the run cannot decide, the gravest reason first; "" if it can.
func (f *Findings) unsound(want Expectation) string {
	reasons := []string{f.lossText(), f.contradictionText(), sentence(f.Saturated, f.seen()), f.givenUpText(), f.unprovenText(), sentence(f.Behind, ""), sentence(f.Incomplete, "")}
	switch {
	case f.OK+f.Failed+f.Unknown == 0:
		reasons = append(reasons, "No operation was measured.")
	case f.OK == 0:
		reasons = append(reasons, fmt.Sprintf("None of %d operations ended ok, so nothing was measured.", f.Failed+f.Unknown))
	case !f.fares(want) && !f.Demand:
		reasons = append(reasons, "Nobody asked for the lock while the fault lasted, so its liveness is not known.")
	case f.AcquiredOK == 0:
		reasons = append(reasons, "Nobody got the lock in the measured part, so nothing is known of it.")
	}
	return cmp.Or(reasons...)
}

// contradictionText says what does not fit; "" if all does.
func (f *Findings) contradictionText() string {
	if len(f.Contradictions) == 0 {
		return ""
	}
	text := f.Contradictions[0]
	if n, what := f.Violations(); n > 0 {
		text += "; so " + what + " prove nothing"
	}
	return upper(text) + "."
}

// sentence is the first of the reasons, and what is to be said with it; "" if there is
// none.
func sentence(reasons []string, more string) string {
	if len(reasons) == 0 {
		return ""
	}
	return upper(reasons[0]) + more + "."
}

// seen says what violations there were although they convict nobody.
func (f *Findings) seen() string {
	if n, what := f.Violations(); n > 0 {
		return "; there were " + what
	}
	return ""
}

func (f *Findings) givenUpText() string {
	if len(f.GivenUp) == 0 {
		return ""
	}
	return "The run was given up" + f.seen() + ": " + f.GivenUp[0] + "."
}

// unprovenText says which fault was not seen by the probes; "" if all were.
func (f *Findings) unprovenText() string {
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
		return fmt.Sprintf("The fault %s (%s on %s) was not proven%s%s%s.", u.ID, u.Kind, u.Target, more, why, f.seen())
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
