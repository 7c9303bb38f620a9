package check

import (
	"cmp"
	"fmt"
	"maps"
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

// Whether the resource was safe.
const (
	Safe   = "safe"
	Unsafe = "unsafe"
	// SafetyNotJudged: no violation was seen, but none had to show either: that proves
	// nothing, so the lock is not called safe.
	SafetyNotJudged = "not-judged"
)

// ExpectationOf is what the history says of itself, so that whoever judges it judges
// alike. Of an older file, which says nothing, safety is expected.
func ExpectationOf(run history.Run) history.Expect {
	if run.Expect == nil {
		return history.Expect{Safety: Safe}
	}
	return *run.Expect
}

// judges says whether anything is expected.
func judges(want history.Expect) bool {
	return want.Safety != "" || len(want.Liveness) > 0 || want.Availability != history.Availability{}
}

// Verdict is the outcome of one run against its expectation.
type Verdict struct {
	Status   Status
	Safety   string
	Liveness string
	Why      string // one sentence: what decided
}

// Violations is the number of events that the lock should have prevented, and
// what they were: rooms created in vain, raced or overlooked, holds that overlap,
// tokens that did not grow, and what else the workload forbids. That overlapping holds led to no room too many was luck.
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
	n := duplicates + f.Overlaps + f.TokensBroken
	for _, what := range slices.Sorted(maps.Keys(f.Violated)) {
		n += f.Violated[what]
		parts = append(parts, plural(f.Violated[what], what))
	}
	return n, strings.Join(parts, " and ")
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
func Judge(f *Findings, want history.Expect) Verdict {
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
		if f.summary != nil {
			v.Why = strings.TrimSpace(v.Why + " " + f.summary.told(f))
		}
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
	if !judges(want) {
		return end(NotJudged, "The scenario expects nothing of this lock. "+upper(f.told(want))+".")
	}
	return end(Expected, upper(f.told(want))+".")
}

// fellShort says what the lock did too late, or not at all; "" if nothing.
func (f *Findings) fellShort(want history.Expect) string {
	if f.fares(want) {
		return f.unserved(want.Availability)
	}
	return fmt.Sprintf("Expected %s, but it was %s%s: the longest time with waiters and no grant was %v.",
		strings.Join(want.Liveness, " or "), f.Liveness, f.forWhat(), time.Duration(f.StallNS).Round(time.Millisecond))
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
func (f *Findings) told(want history.Expect) string {
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
	case !judges(want):
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
func (f *Findings) fares(want history.Expect) bool {
	return len(want.Liveness) == 0 || slices.Contains(want.Liveness, f.Liveness) ||
		(f.Liveness == Down && !f.DownLong && slices.Contains(want.Liveness, Stalls))
}

// unsound says why the run cannot decide, the gravest reason first; "" if it can.
func (f *Findings) unsound(want history.Expect) string {
	seen := ""
	if n, what := f.Violations(); n > 0 {
		seen = "; there were " + what
	}
	var reasons []string
	for _, list := range [][]string{f.lost(), f.GivenUp, f.Contradictions, f.Saturated, f.unproven()} {
		if len(list) > 0 {
			reasons = append(reasons, upper(list[0])+seen+".")
		}
	}
	for _, why := range slices.Concat(f.Behind, f.Incomplete) {
		reasons = append(reasons, upper(why)+".")
	}
	switch {
	case f.OK+f.Failed+f.Unknown == 0:
		reasons = append(reasons, "No operation was measured.")
	case f.OK == 0:
		reasons = append(reasons, fmt.Sprintf("None of %d operations ended ok, so nothing was measured.", f.Failed+f.Unknown))
	case !f.fares(want) && !f.Demand:
		reasons = append(reasons, "Nobody asked for the lock while the fault lasted, so its liveness is not known.")
	case f.AcquiredOK == 0:
		reasons = append(reasons, "Nobody got the lock in the measured part, so nothing is known of it.")
	case f.summary != nil:
		reasons = append(reasons, f.summary.lacks(f))
	}
	return cmp.Or(reasons...)
}

// unproven says which fault was not seen by the probes.
func (f *Findings) unproven() []string {
	unproven := slices.DeleteFunc(slices.Clone(f.Faults), func(l Fault) bool { return l.Proven })
	if len(unproven) == 0 {
		return nil
	}
	u := unproven[0]
	text := fmt.Sprintf("the fault %s (%s on %s) was not proven", u.ID, u.Kind, u.Target)
	if more := len(unproven) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	if u.Why != "" {
		text += ": " + u.Why
	}
	return []string{text}
}

func verb(l string) string {
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
