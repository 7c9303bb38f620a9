package reports

import (
	"cmp"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// status is how a verdict is shown: by a shape and a word, never by colour alone.
type status struct {
	Shape string
	Word  string
	Class string // of the style sheet
	Means string
}

func statusOf(say *lang.Lang, v result.Verdict) status {
	switch v.Status {
	case result.StatusExpected:
		return status{"✓", say.Text("as expected"), "ok", say.Text("What was observed is what the scenario expects of this lock. This may be unsafe: a control has to show the violation.")}
	case result.StatusViolated:
		return status{"✗", say.Text("not as expected"), "bad", say.Text("The lock did something that the scenario does not expect of it, be it in one repeat only, or a --fail-on threshold was crossed.")}
	case result.StatusControlSilent:
		return status{"○", say.Text("control silent"), "warn", say.Text("A lock that had to show the violation did not. The scenario was too gentle this time, so it proves nothing about the other locks.")}
	case result.StatusInconclusive:
		return status{"?", say.Text("inconclusive"), "warn", say.Text("No verdict: this run cannot decide, for the reason that stands with it, such as a saturated machine, a fault that could not be proven, a node that was lost, a load generator that fell behind, or too little data.")}
	case result.StatusNotJudged:
		return status{"–", say.Text("not judged"), "none", say.Text("The scenario expects nothing of this lock: what it did is shown, and says neither good nor bad.")}
	default:
		return status{"–", say.Text("no verdict"), "none", say.Text("The run ended before there was a verdict.")}
	}
}

// statuses lists the verdicts for the legend.
func statuses(say *lang.Lang) []status {
	all := make([]status, 0, 6)
	for _, s := range []string{result.StatusExpected, result.StatusViolated, result.StatusControlSilent, result.StatusInconclusive, result.StatusNotJudged, ""} {
		all = append(all, statusOf(say, result.Verdict{Status: s}))
	}
	return all
}

// undecided stands for what would be good news if the run decided anything.
const undecided = "undecided"

// seen is the safety and the liveness of a row for people.
func seen(say *lang.Lang, v result.Verdict) (safety, liveness string) {
	safety, liveness = say.Term(orAbsent(v.Safety)), say.Term(orAbsent(v.Liveness))
	if v.Undecided() {
		if v.Safety == result.Safe {
			safety = say.Text(undecided)
		}
		if v.Liveness == "live" {
			liveness = say.Text(undecided)
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
func termGroups(say *lang.Lang) []termGroup {
	groups := []termGroup{
		{say.Text("Duplicates and their causes"), []term{
			{say.Text("duplicate"), say.Text("A room whose creation began while the oracle knew another room of the same group that was starting or had a free seat. The oracle hears from the workers over connections that no fault touches.")},
		}},
		{say.Text("Safety and liveness"), []term{
			{say.Text("safe / unsafe"), say.Text("Safe: no duplicate that was raced or overlooked, no two holders at once, no fencing token that did not grow, and no stale write or lost update in a store that checked tokens was seen. Unsafe: at least one.")},
			{say.Text("not-judged"), say.Text("Nothing of that was seen, but the scenario does not say what had to be; of liveness: neither does it, and nobody, or too few, asked for the lock while the fault lasted. Or the run ended before anything was measured.")},
			{say.Text("live"), say.Text("No stall of a second or more while the fault lasted, nor while none was in force; in runs shorter than 8 s, of an eighth of the run, and where no fault was in force of half a second at least. Each of these times is judged by itself: of a stall that goes on beyond its beginning or end, only what lies in it counts; but a fault that is shorter than a stall is judged until the next grant. The first 1.5 s after a fault has ended (or the lease and half a second, if that is more) are not judged. Of one of several resources a stall must last for the lease and half a second after such a short fault, and, in a run with faults, where none is in force. So the longest stall that is told, which spans all of this, may be above a second. What is still wanted when the measured part ends is judged from the last order to heal on, and on the time beyond as well, so what the verdict says of it may be more than the stall.")},
			{say.Text("stalls"), say.Text("There was such a stall, which does not make it down: the lock was granted again before the fault was healed, or the run was over; or the stall that lasted until then took less than half of the time; or the fault was too short, or nobody wanted it any more, so that nobody knows whether it would have come back.")},
			{say.Text("down"), say.Text("The stall lasted until the fault was healed (somebody still wanted it in the second before, or in the shorter time that makes a stall), and for at least half of the fault's time. One of several resources, or a lock of which all that was wanted may have been left to somebody who is gone, is down only where it was wanted until 1.5 s after the fault had begun, at least (or the lease and half a second, if that is more; and 3 s longer where there are leases and the lock's leader may have been lost: the next one counts them anew).")},
			{say.Text("dead"), say.Text("A second of an outage lies where no fault is in force or settling: settling is the first 1.5 s after a fault has ended, or the lease and half a second, if that is more. An outage of one of several resources must last for the lease and a second; no scenario expects a dead lock.")},
			{say.Text(undecided), say.Text("Nothing was seen against it, in a run that decides nothing.")},
		}},
		{say.Text("Figures"), []term{{say.Text("p50, p99, p99.9"), say.Text("Half, 99 % and 99.9 % of the requests were at least this fast.")}}},
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
		to.Terms = append(to.Terms, term{say.Term(cmp.Or(f.Term, f.Title)), say.Term(f.Means)})
	}
	return groups
}

// linkNote says what the figures may be compared with.
const linkNote = "Every data connection between hosts passes through a proxy of the lab, which carries the base latency and the faults. " +
	"Figures taken over plain loopback lack that cost, so never compare them with these."
