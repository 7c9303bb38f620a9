package reports

import (
	"regexp"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/noise"
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
		f.text = begun(f.text)
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
func Headline(say *lang.Lang, f result.File) []string {
	var texts []string
	for _, one := range findings(say, result.Clean(f)) {
		texts = append(texts, one.Plain())
	}
	return texts
}

func findings(say *lang.Lang, f result.File) []finding {
	var all []finding
	if end := ending(say, f.Run); end.Topic != "" {
		all = append(all, end)
	}
	if len(f.Results) == 0 {
		return append(all, finding{topicRun, true, say.Text("There are no results.")})
	}
	for _, workload := range workloadsOf(f.Results) {
		rows := rowsWith(f.Results, func(r result.Row) bool { return r.Workload == workload })
		prefix := ""
		if len(workloadsOf(f.Results)) > 1 {
			prefix = say.Sprintf("With %s: ", plain(workload))
		}
		var told []finding
		for _, lock := range locksOf(rows) {
			told = append(told, inOneSentence(say, rowsWith(rows, func(r result.Row) bool { return r.Lock == lock }), rows))
		}
		for _, one := range append(told, costFindings(say, rows)...) {
			one.text = prefix + one.text
			all = append(all, one)
		}
	}
	return append(all, verdictFindings(say, f.Results)...)
}

// ending says that the run did not come to its end; without a topic if it did.
func ending(say *lang.Lang, run result.Run) finding {
	switch {
	case run.Unfinished:
		return finding{say.Text(topicUnfinished), true, say.Text("The lab has not come to the end of this run: it goes on, was killed, or was stopped by an error. What follows is what there is so far.")}
	case run.Interrupted:
		return finding{say.Text(topicInterrupted), true, say.Text("The run was interrupted before its end: what follows is what there was by then.")}
	}
	return finding{}
}

// check is what the lab's own check came to: quiet where all went as the scenarios say.
type check struct {
	Quiet string
	Loud  []finding
}

func checkOf(say *lang.Lang, rows []result.Row) (c check) {
	for _, f := range verdictFindings(say, rows) {
		if f.Alarm {
			c.Loud = append(c.Loud, f)
			continue
		}
		c.Quiet = strings.TrimSpace(c.Quiet + " " + f.Plain())
	}
	return c
}

// verdictFindings are what the lab's own check came to, and what it may be worth.
func verdictFindings(say *lang.Lang, rows []result.Row) []finding {
	return append(judgedFindings(say, rows), othersFinding(say, rows)...)
}

// othersFinding says during which runs other programs used the machine so much that what was slow may
// be their doing, though no verdict is.
func othersFinding(say *lang.Lang, rows []result.Row) []finding {
	const shown = 3
	highest := 0.0
	var disturbed []string
	for _, r := range rows {
		if used := othersOfRow(r); used > noise.Quiet {
			highest = max(highest, used)
			disturbed = append(disturbed, say.Sprintf("%s under %s", named(r.Lock), plain(r.Scenario)))
		}
	}
	if len(disturbed) == 0 {
		return nil
	}
	if more := len(disturbed) - shown; more > 0 {
		disturbed = append(disturbed[:shown], say.Count(int64(more), "1 more row", "%s more rows"))
	}
	return []finding{{topicVerdicts, false, say.Sprintf("Other programs used up to %s of the machine's CPUs during %s: what was slow there may be their doing.", percent(highest), say.List(disturbed))}}
}

// othersOfRow is the largest share of the CPUs that others used, in any repeat.
func othersOfRow(r result.Row) (used float64) {
	f, _ := result.Lookup(result.OthersField)
	if v, has := f.Of(r); has {
		used = v
	}
	for _, one := range r.PerRepeat {
		used = max(used, one.Figures[result.OthersField])
	}
	return used
}

func judgedFindings(say *lang.Lang, rows []result.Row) (told []finding) {
	by := map[string][]result.Row{}
	for _, r := range rows {
		by[r.Verdict.Status] = append(by[r.Verdict.Status], r)
	}
	var all []finding
	if unjudged := by[result.StatusNotJudged]; len(unjudged) > 0 {
		defer func() { told = append(told, notJudgedFinding(say, unjudged, len(rows))) }()
	}
	total := int64(len(rows) - len(by[result.StatusNotJudged]))
	switch {
	case total == 0:
		return nil
	case int64(len(by[result.StatusExpected])) < total:
	case total == 1:
		return []finding{{topicVerdicts, false, say.Text("The lab's own check: the one verdict is as expected.")}}
	default:
		return []finding{{topicVerdicts, false, say.Sprintf("The lab's own check: all %s verdicts are as expected.", count(total))}}
	}
	for _, group := range []struct {
		status string
		say    func(n int64, of, why string) string
	}{
		{result.StatusViolated, func(n int64, of, why string) string {
			return say.Count(n, "1 of %s is not as expected. %s.", "%[3]s of %[1]s are not as expected. %[2]s.", of, why)
		}},
		{result.StatusControlSilent, func(n int64, of, why string) string {
			return say.Count(n, "1 of %s is that of a control that stayed silent. %s.", "%[3]s of %[1]s are that of a control that stayed silent. %[2]s.", of, why)
		}},
		{result.StatusInconclusive, func(n int64, of, why string) string {
			return say.Count(n, "1 of %s is inconclusive. %s.", "%[3]s of %[1]s are inconclusive. %[2]s.", of, why)
		}},
		{"", func(n int64, of, why string) string {
			return say.Count(n, "1 of %s is missing. %s.", "%[3]s of %[1]s are missing. %[2]s.", of, why)
		}},
	} {
		found := by[group.status]
		if len(found) == 0 {
			continue
		}
		const shown = 3
		var parts []string
		alike := byReason(found)
		for _, one := range alike[:min(len(alike), shown)] {
			part := rowNames(say, one.rows, shown)
			if why := strings.TrimRight(plain(say.Whole(one.why)), ". "); why != "" {
				part += ": " + lower(why)
			}
			parts = append(parts, part)
		}
		more := 0
		for _, one := range alike[min(len(alike), shown):] {
			more += len(one.rows)
		}
		if more > 0 {
			parts = append(parts, say.Sprintf("and %d more", more))
		}
		all = append(all, finding{topicVerdicts, true, group.say(int64(len(found)), say.Count(total, "1 verdict", "%s verdicts"), strings.Join(parts, "; "))})
	}
	return all
}

// notJudgedFinding counts what there is no verdict on, because nothing was expected.
func notJudgedFinding(say *lang.Lang, unjudged []result.Row, of int) finding {
	var names []string
	for _, r := range unjudged {
		names = append(names, say.Sprintf("%s under %s", named(r.Lock), plain(r.Scenario)))
	}
	return finding{topicVerdicts, false, say.Count(int64(len(unjudged)), "1 of %[1]s is not judged, because the scenario expects nothing of the lock: %[2]s.",
		"%[3]s of %[1]s are not judged, because the scenario expects nothing of the lock: %[2]s.", say.Count(int64(of), "1 row", "%s rows"), say.List(names))}
}

// costFindings compares the locks where nothing is broken, against none.
func costFindings(say *lang.Lang, rows []result.Row) []finding {
	scenario := quietScenario(rows)
	if scenario == "" {
		return nil
	}
	var all []finding
	var base *result.Quantiles
	baseServed := ""
	for _, r := range rows {
		if r.Scenario == scenario && r.Lock == "none" {
			base = r.LatencyMS
			baseServed = servedOf(say, r)
		}
	}
	within, judged, busy := noiseOf(rowsWith(rows, func(r result.Row) bool { return r.Scenario == scenario }), "none", "latency_ms.p99")
	var latency, acquire, handoff, capacity []string
	caveat := ""
	acquireIntervals, handoffIntervals := false, false
	for _, r := range rows {
		if r.Scenario != scenario {
			continue
		}
		if r.Verdict.Undecided() {
			caveat = say.Text(" Some of these runs are inconclusive, so take the figures with care.")
		}
		if q := r.LatencyMS; q != nil && (r.Lock != "none" || base == nil) {
			part := named(r.Lock) + " " + span(say, q.P99)
			part += servedOf(say, r)
			switch {
			case base == nil || base.P99 <= 0:
			case busy[r.Lock] > 0:
				part += say.Sprintf(" (%s, not judged)", times(say, q.P99/base.P99))
			case within[r.Lock]:
				part += say.Sprintf(" (%s, noise)", times(say, q.P99/base.P99))
			default:
				part += say.Sprintf(" (%s)", times(say, q.P99/base.P99))
			}
			latency = append(latency, part)
		}
		if r.AcquireMS != nil && r.Lock != "none" {
			part, known := spanWithin(say, r, "acquire_ms.p50", r.AcquireMS.P50)
			if r.Acquired != nil && *r.Acquired < quietShare {
				part += say.Sprintf(" (of the %s that were granted)", percent(*r.Acquired))
			}
			acquire, acquireIntervals = append(acquire, named(r.Lock)+" "+part), acquireIntervals || known
		}
		if r.GrantsPerS != nil && r.HandoffsPerS != nil {
			capacity = append(capacity, say.Sprintf("%s %s (%s on one)", named(r.Lock), count(int64(*r.GrantsPerS)), count(int64(*r.HandoffsPerS))))
		}
		if r.HandoffMS != nil {
			part, known := spanWithin(say, r, "handoff_ms.p50", r.HandoffMS.P50)
			handoff, handoffIntervals = append(handoff, named(r.Lock)+" "+part), handoffIntervals || known
		}
	}
	unsure := func(intervals bool, caveat string) string {
		if !intervals {
			return caveat
		}
		return say.Sprintf(" In brackets: the interval by the spread within the run, or over its repeats. Differences of less than %s of the smaller value are no more than the drift between runs of one program.", percent(noise.Drift)) + caveat
	}
	care := caveat
	switch {
	case base != nil && len(latency) > 0:
		if len(busy) > 0 {
			caveat = say.Sprintf(" Not judged: others used the machine, up to %s of its CPUs, more than %s; measure again on a quiet one.", percent(most(busy)), percent(noise.Quiet)) + caveat
		}
		if judged {
			caveat = say.Sprintf(" Noise: the spread within the runs (block bootstrap) explains the difference, or it is less than the drift between runs of one program, %s of the smaller value.", percent(noise.Drift)) + caveat
		}
		all = append(all, finding{topicCost, false, say.Sprintf(
			"Under %s, a request without a lock (%s) took %s at p50 and %s at p99. The p99 with a lock, against that: %s.%s",
			plain(scenario), named("none"), span(say, base.P50), span(say, base.P99)+baseServed, say.List(latency), caveat)})
	case len(latency) > 0:
		all = append(all, finding{topicCost, false, say.Sprintf("Under %s, the p99 latency was: %s.%s", plain(scenario), say.List(latency), caveat)})
	}
	if len(acquire) > 0 {
		all = append(all, finding{topicCost, false, say.Sprintf(
			"Getting the lock itself took, at p50 under %s: %s.%s", plain(scenario), say.List(acquire), unsure(acquireIntervals, care))})
	}
	if len(capacity) > 0 {
		all = append(all, finding{topicCost, false, say.Sprintf("Grants per second at most, each client on a resource of its own: %s.", say.List(capacity))})
	}
	if len(handoff) > 0 {
		all = append(all, finding{topicCost, false, say.Sprintf(
			"From a release until one of those who waited had the lock it took, at p50 under %s: %s.%s", plain(scenario), say.List(handoff), unsure(handoffIntervals, care))})
	}
	return all
}

// servedOf says of which requests a latency is, where few were served.
func servedOf(say *lang.Lang, r result.Row) string {
	if r.Availability < quietShare {
		return say.Sprintf(" (of the %s that were served)", percent(r.Availability))
	}
	return ""
}

// most is the largest value.
func most(of map[string]float64) (highest float64) {
	for _, v := range of {
		highest = max(highest, v)
	}
	return highest
}

// noiseOf names the locks whose figure differs from that of the base by no more than noise, as
// comparisons of runs judge it; judged if any could be. Of those that cannot be told because others
// used the machine, it says how much of its CPUs they took, there or under the base, 0 to 1.
func noiseOf(rows []result.Row, base, field string) (within map[string]bool, judged bool, busy map[string]float64) {
	within, busy = map[string]bool{}, map[string]float64{}
	f, known := result.Lookup(field)
	at := slices.IndexFunc(rows, func(r result.Row) bool { return r.Lock == base })
	if !known || at < 0 {
		return within, false, busy
	}
	others, _ := result.Lookup(result.OthersField)
	var found []Difference
	for _, r := range rows {
		switch d, both := difference(rows[at], r, f); {
		case !both || r.Lock == base:
		case d.Untested == busyMachine:
			here, _ := others.Of(r)
			there, _ := others.Of(rows[at])
			busy[r.Lock] = max(here, there)
		case d.Untested == "":
			found = append(found, d)
		}
	}
	tested := make([]*noise.Comparison, len(found))
	for i := range found {
		tested[i] = &found[i].Comparison
	}
	noise.Holm(tested)
	for _, d := range found {
		within[d.Lock] = d.Outcome == noise.Noise
	}
	return within, len(found) > 0, busy
}

// spanWithin is a time of a row with its interval, if that is known.
func spanWithin(say *lang.Lang, r result.Row, field string, ms float64) (text string, known bool) {
	f, _ := result.Lookup(field)
	iv := intervalOf(f, r)
	if iv.Confidence == 0 || !(iv.Low < iv.High) || ms < iv.Low || ms > iv.High { // of other repeats: not of those that others disturbed
		return span(say, ms), false
	}
	return say.Sprintf("%s (%s)", span(say, ms), say.Sprintf("%s to %s", span(say, iv.Low), span(say, iv.High))), true
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
