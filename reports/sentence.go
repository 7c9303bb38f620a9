package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"locklab/reports/result"
)

// quietShare is the share of requests above which nobody would speak of an outage.
const quietShare = 0.999

// sentence says in plain words what a user has of a lock: what happened that it is to
// prevent, what it did not serve, and for how long nobody got it; each the worst over the
// scenarios, whether it is to its credit or not.
func sentence(rows []result.Row, counted result.Figure) finding {
	text := named(rows[0].Lock) + ": " + violations(rows, counted) + "; " + outages(rows)
	return finding{Topic: topicLocks, text: text + "." + caveats(rows)}
}

// when names the circumstances of a row by what was broken.
func when(r result.Row) string {
	words := map[string]string{
		"latency": "when the network was slow", "jitter": "when the network was slow", "bandwidth": "when the network was narrow",
		"flaky": "when links were flaky", "flap": "when links came and went", "partition": "when the network was cut",
		"pause": "when a process stood still", "kill": "when a process was killed", "restart": "when a process was restarted",
		"zone-failure": "when a zone died",
	}
	kind := ""
	for _, f := range r.Faults {
		if kind != "" && f.Kind != kind || words[f.Kind] == "" {
			return "under " + plain(r.Scenario)
		}
		kind = f.Kind
	}
	return cmp.Or(words[kind], "with nothing broken")
}

// violations is what happened that a lock is to prevent, and what is not held against it.
func violations(rows []result.Row, counted result.Figure) string {
	if counted.Violation == "" {
		return "nothing was counted that a lock is to prevent"
	}
	hits, most := 0, 0.0
	var at result.Row
	judged := rowsWith(rows, func(r result.Row) bool {
		_, ok := counted.Of(r)
		return ok && r.Verdict.Safety != result.SafetyNotJudged // where nothing had to show, that nothing was seen means nothing
	})
	for _, r := range judged {
		n, _ := counted.Of(r)
		if n > 0 {
			hits++
		}
		if n > most {
			at, most = r, n
		}
	}
	text := "no " + counted.Violation + " was seen"
	if counted.Violation == "duplicate" {
		text = "no duplicate of the lock's making was seen"
	}
	switch {
	case len(judged) == 0:
		text = "whether it is safe was not judged"
	case hits == 0 && len(judged) > 1:
		text += fmt.Sprintf(" in %d scenarios", len(judged))
	case hits == 1:
		text = plural(int64(most), counted.Violation) + share(counted, at) + " " + when(at)
		if len(judged) > 1 {
			text += fmt.Sprintf(", in 1 of %d scenarios", len(judged))
		}
	case hits > 1:
		text = counted.Violation + "s" + outOf(hits, len(judged)) + ", at worst " + count(int64(most)) + share(counted, at) + " " + when(at)
	}
	return text + apart(rows, at, counted)
}

// share says how many of a row's duplicates came before the measured part, and what the
// others are to its matches.
func share(counted result.Figure, r result.Row) string {
	if r.Duplicates == nil {
		return ""
	}
	var parts []string
	if r.Duplicates.Warmup > 0 {
		parts = append(parts, count(r.Duplicates.Warmup)+" of them in the warm-up")
	}
	if rate := per1000(counted, r); rate > 0 {
		parts = append(parts, figure(rate)+" per 1,000 matches")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// apart adds what is counted beside the violation that stands in front, and what makes a lock
// unsafe although none of it was counted. At is the row that was told of last.
func apart(rows []result.Row, at result.Row, counted result.Figure) string {
	var text strings.Builder
	then := func(r result.Row) string {
		if r.Scenario == at.Scenario {
			return ""
		}
		return " " + when(r)
	}
	for _, f := range result.Figures() {
		if f.Violation == "" || f.Violation == counted.Violation {
			continue
		}
		if r, n := worst(rows, f); n > 0 {
			text.WriteString(", with " + plural(int64(n), f.Violation) + then(r))
		}
	}
	if f, known := result.Lookup("duplicates.unreachable"); known {
		if r, n := worst(rows, f); n > 0 {
			fmt.Fprintf(&text, "; besides, %s not the lock's fault%s: the other room could not be reached", plural(int64(n), "duplicate")+" "+isAre(int(n)), then(r))
		}
	}
	if i := slices.IndexFunc(rows, func(r result.Row) bool { return unsafeOtherwise(r, counted) }); i >= 0 {
		text.WriteString(", but it was unsafe under " + plain(rows[i].Scenario) + " (see the verdict there)")
	}
	return text.String()
}

// outages is the worst share of requests that were refused, failed or never answered, with
// how that ended, and the longest time in which somebody waited and nobody got the lock.
func outages(rows []result.Row) string {
	asked := rowsWith(rows, func(r result.Row) bool { return r.Availability > 0 || r.OfferedPerS > 0 })
	if len(asked) == 0 {
		return "no request was measured"
	}
	available, _ := result.Lookup("availability")
	stall, _ := result.Lookup("stall_ms")
	at, share := worst(asked, available)
	waited, ms := worst(rows, stall)
	text := "every request was served"
	if share < 1 {
		text = when(at) + " " + percent(1-share) + " of the requests failed"
		if during := at.AvailabilityDuring; during != nil && *during < 1 {
			text += " (" + percent(1-*during) + " of those that the fault touched)"
		}
		if at.RecoveryMS != nil && *at.RecoveryMS > 0 {
			text += fmt.Sprintf(", and it had recovered %s after the heal", span(*at.RecoveryMS))
		}
	}
	switch {
	case !(ms >= stall.Hurts):
		return text
	case share < 1 && waited.Scenario == at.Scenario:
		return text + "; nobody got " + waitedFor(waited, ms)
	}
	return text + "; nobody got " + waitedFor(waited, ms) + " " + when(waited)
}

// waitedFor is what nobody got, and for how long: a stall is measured while the fault lasts,
// so of a lock that was down to its end it says how long the fault was, not how long it takes.
func waitedFor(r result.Row, ms float64) string {
	what := "the lock"
	if r.Workload == "mutex" {
		what += ", or one of its resources,"
	}
	if r.Verdict.Liveness == "down" && len(r.Faults) > 0 {
		return what + " until the fault was healed (" + span(ms) + ")"
	}
	return what + " for " + span(ms)
}

// caveats names the scenarios whose figures judge nothing.
func caveats(rows []result.Row) string {
	var unsure, unjudged []string
	for _, r := range rows {
		switch {
		case r.Verdict.Status == result.StatusInconclusive:
			unsure = append(unsure, plain(r.Scenario))
		case r.Verdict.Safety == result.SafetyNotJudged:
			unjudged = append(unjudged, plain(r.Scenario))
		}
	}
	text := ""
	if len(unsure) > 0 {
		text += " Inconclusive: " + list(unsure) + "."
	}
	if len(unjudged) > 0 && len(unjudged) < len(rows) {
		text += " Safety was not judged under " + list(unjudged) + "."
	}
	return text
}
