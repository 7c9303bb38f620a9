package reports

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// answer is what the reader asks about the locks with one workload: of each lock its
// figures, the worst over the scenarios, and a sentence.
type answer struct {
	Workload  string
	Scenarios int
	Over      string // what the figures are the worst of
	Fewer     bool   // some locks ran under fewer scenarios than others
	Columns   []result.Figure
	Rows      []answerRow
	Measured  string // how much was measured, and how long something was broken
	Majority  string // which zone has most of the servers
	tradeoff
}

type answerRow struct {
	Lock, Run, Ink string // Run tells the runs of a comparison apart
	Cells          []answerCell
	Sentence       finding
}

// Columns are those of the table: the lock's and one of each figure.
func (r answerRow) Columns() int { return 1 + len(r.Cells) }

// answerCell is one figure. Where is the scenario that it comes from.
type answerCell struct {
	Title, Value, Where, Note, Href string
	// Elsewhere is of another scenario: of which share the figure is, or that it is worse and decides
	// nothing. Or it is of the same: what no fault is to blame for.
	Elsewhere string
	// Besides is what the figure leaves out and the reader must know: "+30 unreachable".
	Besides string
	Meaning meaning
}

// meaning is what a figure means for a user: a shape and a word beside the colour.
type meaning int

// The meanings. What decides nothing is never good.
const (
	open meaning = iota
	good
	felt
	harm
)

func (m meaning) Shape() string { return [...]string{"?", "✓", "△", "✗"}[m] }
func (m meaning) Word() string {
	return [...]string{undecided, lang.Key("good"), lang.Key("noticed"), lang.Key("harm")}[m]
}
func (m meaning) Class() string { return [...]string{"none", "ok", "warn", "bad"}[m] }

// meaningsNote explains them.
const meaningsNote = "✓ no user notices it. △ users notice it: 0.1 s or more, one request in 1,000 fails, or a duplicate while the other room was out of reach. " +
	"✗ it harms them: a duplicate, overlapping hold or stale write; 1 s or more; one request in 100 or more fails; or more than one in 100 (p99) or more than half (p50) were not served or granted, so that they never got as far. ? The run could not decide."

// meaningOf judges one figure of a row for its users.
func meaningOf(f result.Figure, r result.Row) meaning {
	v, ok := f.Of(r)
	var m meaning
	switch {
	case !ok && nobodyServed(r) && ofRequests(f):
		m = harm
	case !ok:
		return open
	case f.Violation != "" && (v > 0 || unsafeOtherwise(r, f)) || f.Violation == "" && v >= f.Hurts:
		m = harm
	case f.Violation != "" && r.Verdict.Safety == result.SafetyNotJudged:
		return open
	case ofTheLucky(f, r):
		m = harm
	case math.IsNaN(shareOf(f, r)):
		return open
	case f.Felt > 0 && v >= f.Felt || f.Violation == "duplicate" && unreachable(r) > 0:
		m = felt
	default:
		m = good
	}
	if r.Verdict.Undecided() && (m == good || f.Violation == "") { // it may be the machine's
		return open
	}
	return m
}

// nobodyServed says that everybody who asked in the measured part still waited when the time was
// over: nobody was served, and nothing failed.
func nobodyServed(r result.Row) bool { return stillWaited(r) > 0 && !asked(r) }

// asked says that there were requests in the measured part that were served or failed.
func asked(r result.Row) bool { return r.Availability > 0 || r.OfferedPerS > 0 }

// stillWaited is how many still waited for other holders when the time was over.
func stillWaited(r result.Row) float64 {
	f, _ := result.Lookup("called_off")
	n, _ := f.Of(r)
	return n
}

// answersOf has one answer for each workload. The runs of a comparison follow each other
// lock by lock; proofs are the addresses of their pages of evidence, "" where there is none.
func answersOf(say *lang.Lang, files []result.File, names, proofs []string) []answer {
	var all []result.Row
	for _, f := range files {
		all = append(all, f.Results...)
	}
	inks := inksOf(all)
	var answers []answer
	for _, workload := range workloadsOf(all) {
		rows := rowsWith(all, func(r result.Row) bool { return r.Workload == workload })
		alone := notInAll(files, workload)
		rows = rowsWith(rows, func(r result.Row) bool { return !slices.Contains(alone, r.Scenario) })
		a := answer{Workload: plain(workload), Scenarios: len(scenariosOf(rows)), Columns: answerColumns(rows)}
		a.Measured = measured(say, rows)
		if a.Majority = majorities(say, rowsWith(files[0].Results, func(r result.Row) bool { return r.Workload == workload })); len(files) > 1 {
			a.Majority = "" // it may be another in each
		}
		for _, lock := range locksOf(rows) {
			for i, f := range files {
				of := rowsWith(f.Results, func(r result.Row) bool {
					return r.Workload == workload && r.Lock == lock && !slices.Contains(alone, r.Scenario)
				})
				if len(of) == 0 {
					continue
				}
				a.Fewer = a.Fewer || len(scenariosOf(of)) < a.Scenarios
				row := answerRow{Lock: plain(lock), Ink: string(inks[lock]), Sentence: inOneSentence(say, of, rows)}
				if len(files) > 1 {
					row.Run = names[i]
				}
				for _, f := range a.Columns {
					c := answerCellOf(say, f, of)
					switch {
					case c.Href == "":
					case row.Run != "" && proofs[i] == "":
						c.Href = "" // the row is told nowhere
					case row.Run != "" || f.Violation != "":
						c.Href = proofs[i] + c.Href
					}
					row.Cells = append(row.Cells, c)
				}
				a.Rows = append(a.Rows, row)
			}
		}
		a.Over = say.Count(int64(a.Scenarios), "Workload %s: of each figure the worst of 1 scenario, with that scenario", "Workload %s: of each figure the worst of %s scenarios, with that scenario", a.Workload)
		if a.Fewer {
			a.Over = say.Sprintf("Workload %s: of each figure the worst of those of %d scenarios that the lock ran under, with that scenario", a.Workload, a.Scenarios)
		}
		if len(alone) > 0 {
			a.Over += say.Sprintf("; left out, because not every run has it: %s", say.List(plainAll(alone)))
		}
		if len(files) == 1 {
			a.tradeoff = tradeoffOf(say, rows, inks)
		}
		answers = append(answers, a)
	}
	return answers
}

// notInAll are the scenarios of a workload that only some of the runs with it have, if they have
// any in common: the worst over more scenarios is worse.
func notInAll(files []result.File, workload string) (alone []string) {
	in, runs := map[string]int{}, 0
	var all []string
	for _, f := range files {
		names := scenariosOf(rowsWith(f.Results, func(r result.Row) bool { return r.Workload == workload }))
		for _, name := range names {
			if in[name]++; in[name] == 1 {
				all = append(all, name)
			}
		}
		runs += min(len(names), 1)
	}
	if alone = slices.DeleteFunc(all, func(name string) bool { return in[name] == runs }); len(alone) == len(in) {
		return nil
	}
	return alone
}

// answerColumns are those of the answer that the rows have, with the one violation that
// the workload is about.
func answerColumns(rows []result.Row) []result.Figure {
	counted := violationOf(rows)
	columns := chosen(rows, func(f result.Figure) bool {
		return f.Answer != "" && (f.Violation == "" || f.Violation == counted.Violation)
	})
	slices.SortStableFunc(columns, func(a, b result.Figure) int {
		switch {
		case a.Own == b.Own:
			return 0
		case a.Own:
			return -1
		}
		return 1
	})
	return columns
}

func answerCellOf(say *lang.Lang, f result.Figure, rows []result.Row) answerCell {
	c := answerCell{Title: say.Term(f.Answer), Value: absent}
	harmful := rowsWith(rows, func(one result.Row) bool { return meaningOf(f, one) > good }) // and decided
	undecided, named := "", []string(nil)
	if i := slices.IndexFunc(rows, nobodyServed); i >= 0 && ofRequests(f) { // no figure is worse than none
		none := rows[i]
		if meaning := meaningOf(f, none); meaning != open || len(harmful) == 0 {
			c.Value, c.Meaning = say.Text("nobody served"), meaning
			c.Where, c.Href = plain(none.Scenario), "#"+rowID(none)
			return c
		}
		undecided, named = ofAnother(say, none, say.Text("nobody served")), append(named, none.Scenario)
	}
	r, v := worst(rows, f)
	if math.IsNaN(v) {
		return c
	}
	if meaningOf(f, r) == open { // another one may be bad, and decided
		if least, known := worst(harmful, f); !math.IsNaN(known) {
			value := told(say, f, v)
			if f.Field == result.OutageField {
				value = longestOutage(say, r).atLeast(say, value)
			}
			undecided = strings.TrimPrefix(undecided+"; "+ofAnother(say, r, value), "; ")
			named = append(named, r.Scenario)
			r, v = least, known
		}
	}
	c.Meaning = meaningOf(f, r)
	for _, one := range rows { // what another row could not decide may have been worse
		_, has := f.Of(one)
		m := meaningOf(f, one)
		switch {
		case has && v == 0 && m > good && (m > c.Meaning || m == c.Meaning && worseBesides(f, one, r)): // none of it, and yet not good
			r, c.Meaning = one, m
		case has && c.Meaning == good && m == open:
			c.Meaning = m
		}
	}
	c.Besides = besides(say, f, r)
	switch {
	case f.Violation == "" || v > 0 || c.Meaning != open:
		c.Value = told(say, f, v)
	default:
		c.Value = say.Text("none seen")
	}
	if v > 0 || c.Besides != "" {
		c.Where, c.Href = plain(r.Scenario), "#"+rowID(r)
	}
	c.Note = sharedNote(say, f, r)
	c.Elsewhere = strings.Trim(undecided+"; "+fewerElsewhere(say, f, r, rows), "; ")
	if f.Field == result.OutageField {
		c.Value = longestOutage(say, r).atLeast(say, c.Value)
	}
	if aside := cutOffElsewhere(say, f, append(named, r.Scenario), rows); aside != "" {
		c.Elsewhere = strings.TrimPrefix(c.Elsewhere+"; "+aside, "; ")
	}
	if aside := unblamed(say, f, r); aside != "" { // first: it is of what stands above it
		c.Elsewhere = strings.TrimSuffix(aside+"; "+c.Elsewhere, "; ")
	}
	for _, one := range rows {
		if ofTheLucky(f, one) || math.IsNaN(shareOf(f, one)) {
			c.Meaning = max(c.Meaning, meaningOf(f, one))
		}
	}
	return c
}

// fewerElsewhere names another row than the one whose time is told, where even fewer were served
// or granted and more of them than its quantile allows for were not: of those that decide, and
// of those that do not if there were fewer still.
func fewerElsewhere(say *lang.Lang, f result.Figure, told result.Row, rows []result.Row) string {
	var notes []string
	least := math.Inf(1)
	for _, undecided := range []bool{false, true} {
		part := rowsWith(rows, func(one result.Row) bool {
			return one.Verdict.Undecided() == undecided && (ofTheLucky(f, one) || math.IsNaN(shareOf(f, one)))
		})
		if len(part) == 0 {
			continue
		}
		fewest := slices.MinFunc(part, func(a, b result.Row) int { return cmp.Compare(shareOf(f, a), shareOf(f, b)) })
		note := sharedNote(say, f, fewest)
		if shareOf(f, fewest) >= least {
			continue
		}
		least = shareOf(f, fewest)
		if fewest.Scenario != told.Scenario && note != sharedNote(say, f, told) {
			notes = append(notes, ofAnother(say, fewest, note))
		}
	}
	return strings.Join(notes, "; ")
}

// ofRequests says that a figure is of requests or acquisitions: of how they ended, or took.
func ofRequests(f result.Figure) bool {
	return strings.HasPrefix(f.Field, requests) || strings.HasPrefix(f.Field, acquires) || f.Answer != "" && f.As == result.Share
}

// sharedNote says of which share of the requests, or acquisitions, a time is, if not of all.
func sharedNote(say *lang.Lang, f result.Figure, r result.Row) string {
	switch share, of := sharedBy(f, r); {
	case of == "" || share >= quietShare:
		return ""
	case math.IsNaN(share):
		return say.Text("unknown share")
	case of == acquires:
		return say.Sprintf("%s granted", percent(share))
	default:
		return say.Sprintf("%s served", percent(share))
	}
}

func shareOf(f result.Figure, r result.Row) float64 {
	share, _ := sharedBy(f, r)
	return share
}

// What times are of.
const (
	requests = "latency_ms."
	acquires = "acquire_ms."
)

// sharedBy is the share of the requests, or of the acquisitions, that a time of a row is of: those
// that were served, or granted; "" if it is no such time. Of acquisitions an older file does not
// tell it: that is NaN where not all requests were served.
func sharedBy(f result.Figure, r result.Row) (share float64, of string) {
	switch {
	case strings.HasPrefix(f.Field, requests):
		return r.Availability, requests
	case strings.HasPrefix(f.Field, acquires) && r.Acquired != nil:
		return *r.Acquired, acquires
	case strings.HasPrefix(f.Field, acquires) && r.Availability < quietShare:
		return math.NaN(), acquires
	}
	return 1, ""
}

// ofTheLucky says that a quantile was not reached: so many never got an answer that, if they
// counted as the longest times, it would be one of theirs.
func ofTheLucky(f result.Figure, r result.Row) bool {
	share, of := sharedBy(f, r)
	if of == "" {
		return false
	}
	quantiles := map[string]float64{"p50": 0.5, "p99": 0.99, "p999": 0.999}
	q, is := quantiles[strings.TrimPrefix(f.Field, of)]
	_, has := f.Of(r)
	return is && has && share < q
}

// told writes a figure of the answer.
func told(say *lang.Lang, f result.Figure, v float64) string {
	switch {
	case f.As == result.Count:
		return count(int64(v))
	case f.As == result.Share && v == 0:
		return say.Text("none")
	case f.As == result.Share:
		return percent(v)
	}
	return span(say, v)
}

// rowID names a row in addresses.
func rowID(r result.Row) string {
	safe := func(text string) string {
		return strings.Map(func(c rune) rune {
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' {
				return c
			}
			return '_'
		}, text)
	}
	return "row-" + safe(r.Lock) + "--" + safe(r.Scenario) + "--" + safe(r.Workload)
}

// worst is the first row with the worst value of a figure, and that value; without a
// row that has the figure it is not a number.
func worst(rows []result.Row, f result.Figure) (row result.Row, value float64) {
	value = math.NaN()
	for _, r := range rows {
		if v, ok := f.Of(r); ok && (math.IsNaN(value) || f.Worse(v, value)) {
			row, value = r, v
		}
	}
	return row, value
}

// per1000 is how many violations there were for 1,000 matches of the measured part; of
// workloads without matches, how many there were.
func per1000(f result.Figure, r result.Row) float64 {
	n, _ := f.Of(r)
	if r.Duplicates == nil {
		return n
	}
	if r.Matches == 0 {
		return 0
	}
	return (n - float64(r.Duplicates.Warmup)) * 1000 / float64(r.Matches)
}
