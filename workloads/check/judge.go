package check

import (
	"maps"
	"slices"
	"time"

	"locklab/internal/sentence"
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
	// nothing, so the lock is not called safe. Or the run ended before anything was measured.
	SafetyNotJudged = "not-judged"

	// LivenessNotJudged: nobody, or too few, asked for the lock while a fault lasted, and nothing is
	// expected of its liveness; or the run ended before anything was measured.
	LivenessNotJudged = "not-judged"
)

// ExpectationOf is what the history says of itself, so that whoever judges it judges
// alike. Of an older file, which says nothing, safety is expected.
func ExpectationOf(run history.Run) history.Expect {
	if run.Expect == nil {
		return history.Expect{Safety: Safe}
	}
	return *run.Expect
}

// judges says whether anything is expected that could have been otherwise.
func judges(want history.Expect) bool {
	return want.Safety != "" || !anyFares(want) || want.Availability != history.Availability{}
}

// Verdict is the outcome of one run against its expectation.
type Verdict struct {
	Status   Status
	Safety   string
	Liveness string
	Why      string        // what decided: one sentence, in English
	Reason   sentence.Text // the same for any language
}

// Violations is the number of events that the lock should have prevented, and
// what they were: duplicates, raced or overlooked, holds that overlap,
// tokens that did not grow, and what else the workload forbids. That overlapping holds led to no room too many was luck.
func (f *Findings) Violations() (int64, sentence.Text) {
	var parts []sentence.Text
	duplicates := f.Duplicates.Unsafe() + f.WarmupDuplicates.Unsafe()
	if duplicates > 0 {
		text := sentence.Count(duplicates, "1 duplicate (%s raced, %s overlooked)", "%s duplicates (%s raced, %s overlooked)",
			sentence.Group(f.Duplicates.Raced+f.WarmupDuplicates.Raced), sentence.Group(f.Duplicates.Overlooked+f.WarmupDuplicates.Overlooked))
		if warm := f.WarmupDuplicates.Unsafe(); warm > 0 {
			text = sentence.Of("%s, %d of them during the warm-up", text, warm)
		}
		parts = append(parts, text)
	}
	if f.Overlaps > 0 {
		parts = append(parts, sentence.Count(f.Overlaps, "1 overlapping hold", "%d overlapping holds"))
	}
	if f.TokensBroken > 0 {
		parts = append(parts, sentence.Count(f.TokensBroken, "1 fencing token that did not grow", "%d fencing tokens that did not grow"))
	}
	n := duplicates + f.Overlaps + f.TokensBroken
	for _, what := range slices.Sorted(maps.Keys(f.Violated)) {
		n += f.Violated[what]
		parts = append(parts, violated(what, f.Violated[what]))
	}
	if len(parts) > 1 && f.WarmupDuplicates.Unsafe() > 0 { // the first part has a comma
		parts[0] = sentence.Of("%s,", parts[0])
	}
	return n, sentence.And(parts...)
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
	early := f.MeasuredNS == 0 && len(f.GivenUp)+len(f.Incomplete) > 0 // it ended before anything was measured
	if anyFares(want) && f.untested() || early {
		v.Liveness = LivenessNotJudged
	}
	switch {
	case n > 0:
		v.Safety = Unsafe
	case want.Safety == "" || early:
		v.Safety = SafetyNotJudged
	}
	end := func(status Status, why sentence.Text) Verdict {
		if f.summary != nil {
			if told := f.summary.told(f); !told.IsZero() {
				why = sentence.Of("%s. %s", why, told)
			}
		}
		v.Status, v.Why, v.Reason = status, why.Whole(), why
		return v
	}
	if want.Safety == Safe && n > 0 && !f.Disturbed {
		return end(Violated, sentence.Of("expected safe, but there were %s", what))
	}
	if why := f.unsound(want); !why.IsZero() {
		return end(Inconclusive, why)
	}
	fell := func(why sentence.Text) Verdict {
		if full := f.fullMachine(); !full.IsZero() {
			return end(Inconclusive, sentence.Of("%s. That may be the machine's doing: %s", why, full))
		}
		return end(Violated, why)
	}
	if f.Liveness == Dead {
		return fell(f.dead())
	}
	var doubt sentence.Text
	if n == 0 {
		doubt = f.doubt()
	}
	if want.Safety == Unsafe && !doubt.IsZero() {
		return end(Inconclusive, doubt)
	}
	if want.Safety == Unsafe && n == 0 {
		return end(ControlSilent, sentence.Of("expected to be unsafe, but no violation was seen in %d operations", f.OK+f.Failed+f.Unknown))
	}
	if why := f.fellShort(want); !why.IsZero() {
		return fell(why)
	}
	if want.Safety == Safe && !doubt.IsZero() {
		return end(Inconclusive, doubt)
	}
	if !judges(want) {
		return end(NotJudged, sentence.Of("the scenario expects nothing of this lock: %s", f.told(want)))
	}
	return end(Expected, f.told(want))
}

// JudgeRepeats judges the repeats of one run together, and each by itself: what one of them did worse than
// expected is not made good by the others.
func JudgeRepeats(repeats []*Findings, want history.Expect) (*Findings, Verdict) {
	merged := Merge(repeats...)
	v := Judge(merged, want)
	if v.Status == Violated {
		return merged, v
	}
	first, worse := 0, 0
	var why sentence.Text
	for i, f := range repeats {
		one := Judge(f, want)
		if one.Status != Violated {
			continue
		}
		if worse++; worse == 1 {
			first, why = i+1, one.Reason
		}
	}
	if worse > 0 {
		v.Status = Violated
		v.Reason = sentence.Of("repeat %d of %d was not as expected: %s", first, len(repeats), why)
		if worse > 1 {
			v.Reason = sentence.Of("%d of %d repeats were not as expected, the first of them repeat %d: %s", worse, len(repeats), first, why)
		}
		v.Why = v.Reason.Whole()
	}
	return merged, v
}

// dead says what did not come back, whatever was expected.
func (f *Findings) dead() sentence.Text {
	longest, _ := f.stuckFor()
	if f.Stuck.Of != "" {
		return sentence.Of("%s is dead: it was wanted, free and not granted for %v, and no fault was in force or settling in at least 1 s of that", f.Stuck.Of, longest)
	}
	return sentence.Of("the lock is dead: it was wanted, free and not granted for %v, and no fault was in force or settling in at least 1 s of that", longest)
}

// fellShort says what the lock did too late, or not at all, if anything.
func (f *Findings) fellShort(want history.Expect) sentence.Text {
	if f.fares(want) {
		return sentence.First(f.unserved(want.Availability), f.lostEarly(want.Availability))
	}
	var wanted []sentence.Text
	for _, word := range want.Liveness {
		wanted = append(wanted, sentence.Term(word))
	}
	was := sentence.Term(f.Liveness)
	longest, _ := f.stuckFor()
	if f.Stuck.Of != "" {
		return sentence.Of("expected %s, but what was seen is %s, for %s: the longest time in which somebody wanted it and nobody got it was %v", sentence.Or(wanted...), was, f.Stuck.Of, longest)
	}
	return sentence.Of("expected %s, but what was seen is %s: the longest time in which somebody wanted the lock and nobody got it was %v", sentence.Or(wanted...), was, longest)
}

// lostEarly says that holds were lost without a fault, and long before their leases ended: who
// asked has as little of them as of a refusal.
func (f *Findings) lostEarly(want history.Availability) sentence.Text {
	if len(f.Faults) > 0 || !f.Kept.below(want.Outside) {
		return sentence.Text{}
	}
	return sentence.Of("expected that at least %.4g %% of the holds last until their release, or for half of their lease, but of %d only %.1f %% did",
		100*want.Outside, f.Kept.All, 100*f.Kept.Share())
}

// unserved says where too few operations ended ok, if anywhere. A fault that was too short
// tells nothing of it.
func (f *Findings) unserved(want history.Availability) sentence.Text {
	switch {
	case f.Outside.below(want.Outside):
		return sentence.Of("expected that at least %.4g %% of the operations that no fault touched end ok, but of %d only %.1f %% did",
			100*want.Outside, f.Outside.All, 100*f.Outside.Share())
	case f.During.below(want.During) && !f.tooShort() && !f.mayGoOn():
		return sentence.Of("expected that at least %.4g %% of the operations that a fault touched end ok, but of %d only %.1f %% did",
			100*want.During, f.During.All, 100*f.During.Share())
	}
	return sentence.Text{}
}

// tooShort says that the faults were over before a failover could be.
func (f *Findings) tooShort() bool { return f.FaultsNS < int64(f.Run.Limit(FailoverTime)) }

// mayGoOn says that the lock as a whole was without a grant to the end of faults that were too short to tell
// whether it goes on: of those who asked meanwhile nobody could be served.
func (f *Findings) mayGoOn() bool { return f.Liveness == Down && !f.DownLong && f.Stuck.Of == "" }

// told says what was seen of a lock that is as expected, and what of it was judged.
func (f *Findings) told(want history.Expect) sentence.Text {
	n, what := f.Violations()
	stall := time.Duration(f.Longest.NS)
	stuck, open := f.stuckFor()
	either := func(atMost, atLeast sentence.Text) sentence.Text {
		if open {
			return atLeast
		}
		return atMost
	}
	text := sentence.Of("no violation")
	switch {
	case n > 0 && want.Safety != "":
		text = sentence.Of("%s, as expected", what)
	case n > 0:
		text = what
	case want.Safety == "":
		text = sentence.Of("no violation was seen")
	}
	switch resource := f.Stuck.Of; {
	case f.Liveness == Down && !f.DownLong && open && len(want.Liveness) > 0 && !slices.Contains(want.Liveness, Down):
		text = sentence.Of("%s; it stalled to the end of the measured part, for at least %v: "+
			"too short a fault to tell whether it would have come back before", text, stuck)
	case f.Liveness == Down && !f.DownLong && len(want.Liveness) > 0 && !slices.Contains(want.Liveness, Down):
		text = sentence.Of("%s; it stalled, for at most %v: "+
			"too short a fault to tell whether it would have come back before that was over", text, stuck)
	case f.untested():
		text = sentence.Of("%s, but too few asked for the lock while the fault lasted", text)
	case f.Liveness == Live && stall >= max(f.LeastStall, f.Run.Limit(calmStall)) && f.Longest.Of != "":
		text = sentence.Of("%s, and it stayed live, but nobody got %s for up to %v, as a fault began or ended or while a lease may have kept it", text, f.Longest.Of, stall)
	case f.Liveness == Live && stall >= max(f.LeastStall, f.Run.Limit(calmStall)):
		text = sentence.Of("%s, and it stayed live, but for up to %v as a fault began or ended", text, stall)
	case f.Liveness == Live:
		text = sentence.Of("%s, and it stayed live", text)
	case f.Liveness == Down && resource != "":
		text = either(sentence.Of("%s; it was down for %s, for at most %v", text, resource, stuck), sentence.Of("%s; it was down for %s, for at least %v", text, resource, stuck))
	case f.Liveness == Down:
		text = either(sentence.Of("%s; it was down, for at most %v", text, stuck), sentence.Of("%s; it was down, for at least %v", text, stuck))
	case resource != "":
		text = either(sentence.Of("%s; it stalled for %s, for at most %v", text, resource, stuck), sentence.Of("%s; it stalled for %s, for at least %v", text, resource, stuck))
	default:
		text = either(sentence.Of("%s; it stalled, for at most %v", text, stuck), sentence.Of("%s; it stalled, for at least %v", text, stuck))
	}
	switch {
	case !judges(want):
	case want.Safety == "" && len(want.Liveness) == 0:
		text = sentence.Of("%s. Only its availability was judged", text)
	case want.Safety == "" && n > 0:
		text = sentence.Of("%s. Nothing was expected of its safety", text)
	case want.Safety == "":
		text = sentence.Of("%s. Its safety was not judged", text)
	case len(want.Liveness) == 0:
		text = sentence.Of("%s. Its liveness was not judged", text)
	}
	switch below := f.During.below(want.Availability.During); {
	case below && f.tooShort():
		text = sentence.Of("%s. That %.1f %% of the operations that a fault touched ended ok was not judged: "+
			"it lasted %v, less than the %v that going on without what failed may take", text, 100*f.During.Share(), time.Duration(f.FaultsNS), f.Run.Limit(FailoverTime))
	case below && f.mayGoOn():
		text = sentence.Of("%s. That %.1f %% of the operations that a fault touched ended ok was not judged either", text, 100*f.During.Share())
	}
	return text
}

// stuckFor is for how long the lock, or the resource, that fared worst was not granted: in the time
// that it is judged by, or on beyond that. Open says that it went on when the measured part ended.
func (f *Findings) stuckFor() (longest time.Duration, open bool) {
	longest, open = time.Duration(f.Stuck.NS), f.Stuck.Open
	if open {
		longest = sentence.Floor(longest)
	}
	return longest, open
}

// anyFares says that nothing is expected of the liveness: of all three words one is right.
func anyFares(want history.Expect) bool {
	return len(want.Liveness) == 0 || len(want.Liveness) > rank(Down)
}

// untested says that too few asked for the lock where it could have been anything but live.
func (f *Findings) untested() bool { return f.Liveness == Live && !f.Demand }

// fares says that liveness is as expected. What was down for a short fault may as well
// have stalled.
func (f *Findings) fares(want history.Expect) bool {
	return len(want.Liveness) == 0 || slices.Contains(want.Liveness, f.Liveness) ||
		(f.Liveness == Down && !f.DownLong && slices.Contains(want.Liveness, Stalls))
}

// worse says that liveness is worse than all that is expected: somebody saw that.
func (f *Findings) worse(want history.Expect) bool {
	return !slices.ContainsFunc(want.Liveness, func(word string) bool { return rank(word) >= rank(f.Liveness) })
}

// unsound says why the run cannot decide, the gravest reason first, if it cannot.
func (f *Findings) unsound(want history.Expect) sentence.Text {
	n, what := f.Violations()
	lists := [][]sentence.Text{f.lost(), f.GivenUp, f.Contradictions, f.Saturated, f.unproven()}
	if f.Liveness != Dead { // a dead lock keeps the clients waiting, whatever was broken
		lists = append(lists, f.Unlinked)
	}
	for _, list := range lists {
		switch {
		case len(list) > 0 && n > 0:
			return sentence.Of("%s; there were %s", list[0], what)
		case len(list) > 0:
			return list[0]
		}
	}
	if f.Liveness == Dead {
		if f.HasRooms { // players come by themselves; elsewhere a dead lock keeps the clients busy that offer
			return sentence.First(f.Behind...)
		}
		return sentence.Text{}
	}
	if why := sentence.First(slices.Concat(f.Behind, f.Incomplete)...); !why.IsZero() {
		return why
	}
	measured := f.OK
	if f.CalledOff > 0 {
		measured += f.Granted // by who had asked before
	}
	switch {
	case measured == 0 && f.Failed+f.Unknown == 0:
		return sentence.Of("no operation was measured")
	case measured == 0:
		return sentence.Of("none of %d operations ended ok, so nothing was measured", f.Failed+f.Unknown)
	case !anyFares(want) && !f.Demand && !f.worse(want):
		return sentence.Of("too few asked for the lock while the fault lasted, so its liveness is not known")
	case f.Granted == 0:
		return sentence.Of("nobody got the lock in the measured part, so nothing is known of it")
	case f.summary != nil:
		return f.summary.lacks(f)
	}
	return sentence.Text{}
}

// unproven says which fault was not seen by the probes, if any.
func (f *Findings) unproven() []sentence.Text {
	unproven := slices.DeleteFunc(slices.Clone(f.Faults), func(l Fault) bool { return l.Proven })
	if len(unproven) == 0 {
		return nil
	}
	u := unproven[0]
	text := sentence.Of("the fault %s, %s, was not proven", u.ID, history.FaultText(u.Kind, u.Target))
	if more := len(unproven) - 1; more > 0 {
		text = sentence.Of("the fault %s, %s, was not proven, and %d more", u.ID, history.FaultText(u.Kind, u.Target), more)
	}
	if !u.Why.IsZero() {
		text = sentence.Of("%s: %s", text, u.Why)
	}
	return []sentence.Text{text}
}
