package reports

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"locklab/reports/result"
)

// The topics of findings, in the order in which they are told.
const (
	topicInterrupted = "Interrupted" // the page has a banner for it
	topicUnfinished  = "Unfinished"  // likewise
	topicRun         = "The run"
	topicVerdicts    = "Verdicts"
	topicLocks       = "Locks"
	topicCost        = "Cost"
)

// finding is one plain sentence or two about the result.
type finding struct {
	Topic string
	Alarm bool   // something that was not expected
	text  string // the names of locks stand between marks
}

// The marks around the names of locks in a finding. No text of a file can have
// them: see plain.
const (
	nameBegins = "\uE000"
	nameEnds   = "\uE001"
)

func named(lock string) string { return nameBegins + plain(lock) + nameEnds }

// Plain is the text without the marks.
func (f finding) Plain() string {
	return strings.NewReplacer(nameBegins, "", nameEnds, "").Replace(f.text)
}

// Bare is the sentence without the name that it begins with, for where that stands already.
func (f finding) Bare() finding {
	_, f.text, _ = strings.Cut(f.text, nameEnds+": ")
	if f.text != "" {
		f.text = strings.ToUpper(f.text[:1]) + f.text[1:]
	}
	return f
}

// textPart is a piece of a finding: the name of a lock, or what is between.
type textPart struct {
	Text string
	Name bool
}

// Parts is the text in pieces, so that a page can set names apart. Figures stay on
// one line with their units.
func (f finding) Parts() []textPart {
	var parts []textPart
	rest := regexp.MustCompile(`(\d) (ms|µs|s)\b`).ReplaceAllString(f.text, "$1\u00a0$2")
	for {
		before, after, found := strings.Cut(rest, nameBegins)
		if before != "" {
			parts = append(parts, textPart{Text: before})
		}
		if !found {
			return parts
		}
		name, tail, _ := strings.Cut(after, nameEnds)
		parts = append(parts, textPart{Text: name, Name: true})
		rest = tail
	}
}

// Headline says in plain words what was found: for every lock alike what it let happen, the
// requests that it did not serve and its longest outage, each the worst over the scenarios;
// what the locks cost where nothing is broken; and what the lab's own check came to.
func Headline(f result.File) []string {
	var texts []string
	for _, one := range findings(result.Clean(f)) {
		texts = append(texts, one.Plain())
	}
	return texts
}

func findings(f result.File) []finding {
	var all []finding
	if end := ending(f.Run); end.Topic != "" {
		all = append(all, end)
	}
	if len(f.Results) == 0 {
		return append(all, finding{topicRun, true, "There are no results."})
	}
	for _, workload := range workloadsOf(f.Results) {
		rows := rowsWith(f.Results, func(r result.Row) bool { return r.Workload == workload })
		prefix := ""
		if len(workloadsOf(f.Results)) > 1 {
			prefix = "With " + plain(workload) + ": "
		}
		var told []finding
		for _, lock := range locksOf(rows) {
			told = append(told, sentence(rowsWith(rows, func(r result.Row) bool { return r.Lock == lock }), violationOf(rows)))
		}
		for _, one := range append(told, costFindings(rows)...) {
			one.text = prefix + one.text
			all = append(all, one)
		}
	}
	return append(all, verdictFindings(f.Results)...)
}

// ending says that the run did not come to its end; without a topic if it did.
func ending(run result.Run) finding {
	switch {
	case run.Unfinished:
		return finding{topicUnfinished, true, "The lab has not ended this run: it goes on, or was killed. What follows is what there is so far."}
	case run.Interrupted:
		return finding{topicInterrupted, true, "The run was interrupted before its end: what follows is what there was by then."}
	}
	return finding{}
}

func verdictFindings(rows []result.Row) (told []finding) {
	by := map[string][]result.Row{}
	for _, r := range rows {
		by[r.Verdict.Status] = append(by[r.Verdict.Status], r)
	}
	var all []finding
	if unjudged := by[result.StatusNotJudged]; len(unjudged) > 0 {
		defer func() { told = append(told, notJudgedFinding(unjudged, len(rows))) }()
	}
	total := int64(len(rows) - len(by[result.StatusNotJudged]))
	switch {
	case total == 0:
		return nil
	case int64(len(by[result.StatusExpected])) < total:
	case total == 1:
		return []finding{{topicVerdicts, false, "The lab's own check: the one verdict is as expected."}}
	default:
		return []finding{{topicVerdicts, false, fmt.Sprintf("The lab's own check: all %s are as expected.", plural(total, "verdict"))}}
	}
	for _, group := range []struct{ status, text string }{
		{result.StatusViolated, "not as expected"},
		{result.StatusControlSilent, "that of a control that stayed silent"},
		{result.StatusInconclusive, "inconclusive"},
		{"", "missing"},
	} {
		found := by[group.status]
		if len(found) == 0 {
			continue
		}
		const shown = 3
		var parts []string
		for _, r := range found[:min(len(found), shown)] {
			part := named(r.Lock) + " under " + plain(r.Scenario)
			if why := strings.TrimRight(plain(r.Verdict.Why), ". "); why != "" {
				part += ": " + lower(why)
			}
			parts = append(parts, part)
		}
		if more := len(found) - shown; more > 0 {
			parts = append(parts, fmt.Sprintf("and %d more", more))
		}
		all = append(all, finding{topicVerdicts, true, fmt.Sprintf("%d of %s %s %s. %s.",
			len(found), plural(total, "verdict"), isAre(len(found)), group.text, strings.Join(parts, "; "))})
	}
	return all
}

// notJudgedFinding counts what there is no verdict on, because nothing was expected.
func notJudgedFinding(unjudged []result.Row, of int) finding {
	var names []string
	for _, r := range unjudged {
		names = append(names, named(r.Lock)+" under "+plain(r.Scenario))
	}
	return finding{topicVerdicts, false, fmt.Sprintf("%d of %s %s not judged, because the scenario expects nothing of the lock: %s.",
		len(unjudged), plural(int64(of), "row"), isAre(len(unjudged)), list(names))}
}

// costFindings compares the locks where nothing is broken, against none.
func costFindings(rows []result.Row) []finding {
	scenario := quietScenario(rows)
	if scenario == "" {
		return nil
	}
	var all []finding
	var base *result.Quantiles
	for _, r := range rows {
		if r.Scenario == scenario && r.Lock == "none" {
			base = r.LatencyMS
		}
	}
	var latency, acquire []string
	caveat := ""
	for _, r := range rows {
		if r.Scenario != scenario {
			continue
		}
		if r.Verdict.Status == result.StatusInconclusive {
			caveat = " Some of these runs are inconclusive, so take the figures with care."
		}
		if q := r.LatencyMS; q != nil && (r.Lock != "none" || base == nil) {
			part := named(r.Lock) + " " + span(q.P99)
			if r.Availability < quietShare {
				part += " (of the " + percent(r.Availability) + " that were served)"
			}
			if base != nil && base.P99 > 0 {
				part += " (" + times(q.P99/base.P99) + ")"
			}
			latency = append(latency, part)
		}
		if r.AcquireMS != nil && r.Lock != "none" {
			acquire = append(acquire, named(r.Lock)+" "+span(r.AcquireMS.P50))
		}
	}
	switch {
	case base != nil && len(latency) > 0:
		all = append(all, finding{topicCost, false, fmt.Sprintf(
			"Under %s, a request without a lock (%s) took %s at p50 and %s at p99. The p99 with a lock, against that: %s.%s",
			plain(scenario), named("none"), span(base.P50), span(base.P99), list(latency), caveat)})
	case len(latency) > 0:
		all = append(all, finding{topicCost, false, fmt.Sprintf("Under %s, the p99 latency was: %s.%s", plain(scenario), list(latency), caveat)})
	}
	if len(acquire) > 0 {
		all = append(all, finding{topicCost, false, fmt.Sprintf(
			"Getting the lock itself took, at p50 under %s: %s.%s", plain(scenario), list(acquire), caveat)})
	}
	return all
}

// quietScenario is the one to compare costs in: the first without faults, baseline before
// others; "" if there is none, because what was broken would be compared.
func quietScenario(rows []result.Row) string {
	quiet := slices.DeleteFunc(scenariosOf(rows), func(name string) bool {
		return slices.ContainsFunc(rows, func(r result.Row) bool { return r.Scenario == name && len(r.Faults) > 0 })
	})
	switch {
	case slices.Contains(quiet, "baseline"):
		return "baseline"
	case len(quiet) > 0:
		return quiet[0]
	}
	return ""
}
