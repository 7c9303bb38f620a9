package reports

import (
	"cmp"
	"strings"

	"locklab/reports/result"
)

// status is how a verdict is shown: by a shape and a word, never by colour alone.
type status struct {
	Shape string
	Word  string
	Class string // of the style sheet
	Means string
}

func statusOf(v result.Verdict) status {
	switch v.Status {
	case result.StatusExpected:
		return status{"✓", "as expected", "ok", "What was observed is what the scenario expects of this lock. This may be unsafe: a control has to show the violation."}
	case result.StatusViolated:
		return status{"✗", "not as expected", "bad", "The lock did something that the scenario does not expect of it, or a --fail-on threshold was crossed."}
	case result.StatusControlSilent:
		return status{"○", "control silent", "warn", "A lock that had to show the violation did not. The scenario was too gentle this time, so it proves nothing about the other locks."}
	case result.StatusInconclusive:
		return status{"?", "inconclusive", "warn", "No verdict: this run cannot decide, for the reason that stands with it, such as a saturated machine, a fault that could not be proven, a node that was lost, a load generator that fell behind, or too little data."}
	case result.StatusNotJudged:
		return status{"–", "not judged", "none", "The scenario expects nothing of this lock: what it did is shown, and says neither good nor bad."}
	default:
		return status{"–", "no verdict", "none", "The run ended before there was a verdict."}
	}
}

// statuses lists the verdicts for the legend.
func statuses() []status {
	all := make([]status, 0, 6)
	for _, s := range []string{result.StatusExpected, result.StatusViolated, result.StatusControlSilent, result.StatusInconclusive, result.StatusNotJudged, ""} {
		all = append(all, statusOf(result.Verdict{Status: s}))
	}
	return all
}

// undecided stands for what would be good news if the run decided anything.
const undecided = "undecided"

// seen is the safety and the liveness of a row for people.
func seen(v result.Verdict) (safety, liveness string) {
	safety, liveness = orAbsent(v.Safety), orAbsent(v.Liveness)
	if v.Status == result.StatusInconclusive {
		if v.Safety == result.Safe {
			safety = undecided
		}
		if v.Liveness == "live" {
			liveness = undecided
		}
	}
	return safety, liveness
}

// term is one entry of "how to read this".
type term struct{ Word, Means string }

type termGroup struct {
	Name  string
	Terms []term
}

// termGroups explains the words, and every figure.
func termGroups() []termGroup {
	groups := []termGroup{
		{"Duplicates and their causes", []term{
			{"duplicate", "A room whose creation began while the oracle knew another room of the same group that was starting or had a free seat. The oracle hears from the workers over connections that no fault touches."},
		}},
		{"Safety and liveness", []term{
			{"safe / unsafe", "Safe: no duplicate that was raced or overlooked, no two holders at once, no fencing token that did not grow and no stale write was seen. Unsafe: at least one."},
			{"not-judged", "Nothing of that was seen, but the scenario does not say what had to be."},
			{"live", "No stall of a second or more (of an eighth of the run, if that is less) while the fault lasted, or in a run without one."},
			{"stalls", "There was such a stall, but the lock was granted again before the fault was healed, or the run was over; or the stall that lasted until then took less than half of the time."},
			{"down", "The stall lasted until the fault was healed, and for at least half of the fault's time."},
			{undecided, "Nothing was seen against it, in a run that decides nothing."},
		}},
		{"Figures", []term{{"p50, p99, p99.9", "Half, 99 % and 99.9 % of the requests were at least this fast."}}},
	}
	for _, f := range result.Figures() {
		if f.Means == "" {
			continue
		}
		to := &groups[2]
		switch {
		case strings.HasPrefix(f.Group, "Duplicates"):
			to = &groups[0]
		case strings.HasPrefix(f.Group, "Fault"):
			to = &groups[1]
		}
		to.Terms = append(to.Terms, term{cmp.Or(f.Term, f.Title), f.Means})
	}
	return groups
}

// linkNote says what the figures may be compared with.
const linkNote = "Every data connection between hosts passes through a proxy of the lab, which carries the base latency and the faults. " +
	"Figures taken over plain loopback lack that cost, so never compare them with these."
