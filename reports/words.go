package reports

import "locklab/reports/result"

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
		return status{"○", "control silent", "warn", "A lock that had to show the violation did not. The scenario was too gentle this time, so a good result of the other locks proves less."}
	case result.StatusInconclusive:
		return status{"?", "inconclusive", "warn", "No verdict: the machine was saturated, the fault could not be proven, the load generator fell behind, or there was too little data."}
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

// term is one entry of "how to read this".
type term struct{ Word, Means string }

func duplicateTerms() []term {
	return []term{
		{"duplicate", "A room whose creation began while the oracle knew another room of the same group that was starting or had a free seat. The oracle hears from the workers over connections that no fault touches."},
		{"raced", "The other room was still starting, or another master ordered it at the same time: the lock failed, or there was none."},
		{"overlooked", "The other room was open and the creating master could reach it, but missed it."},
		{"unreachable", "The creating master could not reach the worker that hosts the other room. This is the price of going on during a fault, not a failure of the lock: safety is judged on raced and overlooked only."},
	}
}

func livenessTerms() []term {
	return []term{
		{"safe / unsafe", "Safe: no duplicate that was raced or overlooked (matchmaking), no two holders at once (mutex). Unsafe: at least one."},
		{"live", "No stall of a second or more while the fault lasted."},
		{"stalls", "There was such a stall, but the lock was granted again before the fault was healed."},
		{"down", "The stall lasted until the fault was healed, and at least half of the fault."},
		{"stall", "The longest time, while the fault lasted, in which somebody wanted the lock and nobody got it."},
		{"recovery", "From the order to heal the fault until the lock is granted again and the share of requests that end well is back to nine tenths of what it was before."},
	}
}

func measureTerms() []term {
	return []term{
		{"latency", "From the moment a request was due by the load's schedule to its answer, so a stalled system is charged for the requests it kept waiting (no coordinated omission). Only requests that ended well count."},
		{"acquire", "Only the time to get the lock, at its client. In matchmaking most matches find a seat without the lock, so latency and acquire time differ widely."},
		{"offered / achieved", "Requests per second that the schedule asked for, and those that ended well."},
		{"availability", "Share of the requests that ended well."},
		{"lateness", "How late the load generator itself was. When it falls behind, the run is inconclusive."},
		{"zombie", "The longest time from the next grant of a lock to the moment the old holder noticed that it had lost it."},
		{"p50, p99, p99.9", "Half, 99 % and 99.9 % of the requests were at least this fast."},
		{"fairness", "Jain's index over the clients: 1 if all were served alike, 1/n if one of n got everything."},
	}
}

// linkNote says what the figures may be compared with.
const linkNote = "Every connection between hosts passes through a proxy of the lab, which carries the base latency and the faults. " +
	"Figures taken over plain loopback lack that cost, so never compare them with these."
