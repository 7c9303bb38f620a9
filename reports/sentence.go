package reports

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// quietShare is the share of requests above which nobody would speak of an outage.
const quietShare = 0.999

// inOneSentence says in plain words what a user has of a lock: what happened that it is to
// prevent, what it did not serve, and for how long nobody got it; each the worst over the
// scenarios, whether it is to its credit or not. All are the rows that it is read beside.
func inOneSentence(say *lang.Lang, rows, all []result.Row) finding {
	in := ambiguous(say, all)
	harm := violations(say, rows, violationOf(all), in)
	text := say.Sprintf("%s: %s; %s.", named(rows[0].Lock), harm, outages(say, rows, in))
	if ran, of := len(scenariosOf(rows)), len(scenariosOf(all)); ran < of {
		text += say.Sprintf(" It ran under %d of the %d scenarios.", ran, of)
	}
	return finding{Topic: topicLocks, text: text + caveats(say, rows)}
}

// circumstances are the scenarios that a sentence has told of.
type circumstances struct {
	words map[string]string // of which scenario each stands
	last  string            // that was named; "" if that were several
}

// ambiguous are the words that stand for several scenarios of what a sentence is read beside: it
// tells none of these by them, or each would tell another one by the same words.
func ambiguous(say *lang.Lang, all []result.Row) *circumstances {
	first, in := map[string]string{}, &circumstances{words: map[string]string{}}
	for _, r := range all {
		words := when(say, r)
		if scenario, used := first[words]; used && scenario != r.Scenario {
			in.words[words] = ""
		} else {
			first[words] = r.Scenario
		}
	}
	return in
}

// of names a row's scenario in words that the sentence has for no other one.
func (c *circumstances) of(say *lang.Lang, r result.Row) string {
	words := when(say, r)
	if scenario, used := c.words[words]; used && scenario != r.Scenario {
		words = say.Sprintf("under %s", plain(r.Scenario))
	}
	c.words[words], c.last = r.Scenario, r.Scenario
	return words
}

// thereOr names a row's scenario, unless it is the one that was named last.
func (c *circumstances) thereOr(say *lang.Lang, r result.Row) string {
	if r.Scenario == c.last {
		return say.Text("there")
	}
	return c.of(say, r)
}

func (c *circumstances) told(r result.Row) bool {
	return slices.Contains(slices.Collect(maps.Values(c.words)), r.Scenario)
}

// violations is what happened that a lock is to prevent, and what is not held against it.
func violations(say *lang.Lang, rows []result.Row, counted result.Figure, in *circumstances) string {
	if counted.Violation == "" {
		return say.Text("nothing was counted that a lock is to prevent")
	}
	most := 0.0
	var at result.Row
	var hit []result.Row
	judged := rowsWith(rows, func(r result.Row) bool {
		n, ok := counted.Of(r)
		return ok && (n > 0 || r.Verdict.Safety != result.SafetyNotJudged) // where nothing had to show, that nothing was seen means nothing
	})
	for _, r := range judged {
		n, _ := counted.Of(r)
		if n > 0 {
			hit = append(hit, r)
		}
		if n > most {
			at, most = r, n
		}
	}
	return violated(say, counted, at, hit, len(judged), in) + apart(say, rows, counted, in) + fenced(say, rows, in)
}

// fenced says what the store that holders wrote to made of fencing tokens: "" where none was written
// to, or where it took all that it checked.
func fenced(say *lang.Lang, rows []result.Row, in *circumstances) string {
	of := func(field string) (sum float64, known bool) {
		f, _ := result.Lookup(field)
		for _, r := range rows {
			n, has := f.Of(r)
			sum, known = sum+n, known || has
		}
		return sum, known
	}
	writes, _ := of("writes")
	checked, _ := of("checked_writes")
	tokens, known := of("token_grants")
	late, _ := result.Lookup("fenced_writes")
	at, refused := worst(rows, late)
	switch {
	case refused > 0:
		return say.Count(int64(refused), "; 1 late write was refused %[1]s", "; %[2]s late writes were refused %[1]s", in.of(say, at))
	case checked > 0 || writes == 0:
		return ""
	case known && tokens == 0:
		return say.Text("; it has no fencing tokens, so that the store checked no write")
	case known:
		return say.Text("; fencing was off, so that the store checked no write")
	}
	return say.Text("; the store checked no write")
}

// violated says in how many scenarios there was a violation, how many there were in the worst of
// them, and which the others are.
func violated(say *lang.Lang, counted result.Figure, at result.Row, hit []result.Row, judged int, in *circumstances) string {
	duplicate := counted.Violation == "duplicate"
	n, _ := counted.Of(at)
	hits, most := len(hit), int64(n)
	switch {
	case judged == 0 && duplicate:
		return say.Text("no raced or overlooked duplicate was seen, but whether it is safe was not judged")
	case judged == 0:
		return say.Text("whether it is safe was not judged")
	case hits == 0 && judged == 1 && duplicate:
		return say.Text("no raced or overlooked duplicate was seen")
	case hits == 0 && judged == 1:
		return say.Sprintf("no %s was seen", say.Term(counted.Violation))
	case hits == 0 && duplicate:
		return say.Sprintf("no raced or overlooked duplicate was seen in %d scenarios", judged)
	case hits == 0:
		return say.Sprintf("no %s was seen in %d scenarios", say.Term(counted.Violation), judged)
	case judged == 1:
		return say.Sprintf("%s%s %s", counts(say, most, counted), share(say, counted, at), in.of(say, at))
	case hits == 1:
		return say.Sprintf("%s%s %s, in 1 of %d scenarios", counts(say, most, counted), share(say, counted, at), in.of(say, at), judged)
	case hits == judged:
		return say.Sprintf("%s in each of %d scenarios, at worst %s%s %s", say.Term(counted.Violation+"s"), judged, count(most), share(say, counted, at), in.of(say, at))
	}
	others := rowsWith(hit, func(r result.Row) bool { return r.Scenario != at.Scenario })
	return say.Sprintf("%s in %d of %d scenarios, at worst %s%s %s", say.Term(counted.Violation+"s"), hits, judged, count(most), share(say, counted, at), in.of(say, at)) +
		alsoIn(say, others, counted, in)
}

// counts is a number of violations.
func counts(say *lang.Lang, n int64, f result.Figure) string {
	if n == 1 {
		return say.Sprintf("1 %s", say.Term(f.Violation))
	}
	return say.Sprintf("%[1]s %[2]s", count(n), say.Term(f.Violation+"s"))
}

// share says how many of a row's violations came before the measured part, what the others are to its
// matches, and of how many no fault is the cause.
func share(say *lang.Lang, counted result.Figure, r result.Row) string {
	var parts []string
	if note := withoutFault(say, counted, r); note != "" { // first: it is of what stands before it
		parts = append(parts, note)
	}
	if counted.Violation == "duplicate" && r.Duplicates != nil {
		n, _ := counted.Of(r)
		if warmup := r.Duplicates.Warmup; warmup > 0 {
			parts = append(parts, say.Sprintf("%s in the warm-up and %s measured", count(warmup), count(int64(n)-warmup)))
		}
		if v := per1000(counted, r); v > 0 {
			parts = append(parts, say.Sprintf("%s per 1,000 matches", figure(v)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return say.Sprintf(" (%s)", strings.Join(parts, ", "))
}

// withoutFault says how many of a row's violations no fault touched; "" if that is none.
func withoutFault(say *lang.Lang, counted result.Figure, r result.Row) string {
	all, _ := counted.Of(r)
	switch n := untouched(counted, r); {
	case n == 0:
		return ""
	case n == 1 && all == 1:
		return say.Text("no fault touched it")
	case n == all:
		return say.Text("no fault touched any of them")
	default:
		return say.Sprintf("no fault touched %s of them", count(int64(n)))
	}
}

// untouched is how many of a row's violations of a kind no fault touched.
func untouched(counted result.Figure, r result.Row) float64 {
	f, _ := result.Lookup(counted.Untouched)
	n, _ := f.Of(r)
	return n
}

// apart adds what is counted beside the violation that stands in front, and what makes a lock
// unsafe although none of it was counted.
func apart(say *lang.Lang, rows []result.Row, counted result.Figure, in *circumstances) string {
	var text strings.Builder
	most := func(f result.Figure) (at result.Row, n float64) {
		at, n = worst(rows, f)
		for _, r := range rows {
			if same, has := f.Of(r); has && same == n && r.Scenario == in.last { // of equals the one just told of
				at = r
			}
		}
		return at, n
	}
	for _, f := range result.Figures() {
		if f.Violation == "" || f.Violation == counted.Violation {
			continue
		}
		if r, n := most(f); n > 0 {
			text.WriteString(say.Sprintf(", with %s %s", counts(say, int64(n), f)+share(say, f, r), in.thereOr(say, r)) + alsoUnder(say, rows, r, f, counted, in))
		}
	}
	if f, known := result.Lookup("duplicates.unreachable"); known {
		if r, n := most(f); n > 0 {
			text.WriteString(say.Count(int64(n), "; besides, 1 unreachable duplicate %s, the price of going on while cut off",
				"; besides, %[2]s unreachable duplicates %[1]s, the price of going on while cut off", in.thereOr(say, r)))
		}
	}
	switch otherwise := scenariosOf(rowsWith(rows, func(r result.Row) bool {
		return unsafeOtherwise(r, counted) && otherViolations(say, counted, r)[0] == say.Term(result.Unsafe)
	})); len(otherwise) {
	case 0:
	case 1:
		text.WriteString(say.Sprintf(", but it was unsafe under %s (see the verdict there)", plain(otherwise[0])))
	default:
		text.WriteString(say.Sprintf(", but it was unsafe under %s (see the verdicts there)", say.List(plainAll(otherwise))))
	}
	return text.String()
}

// alsoUnder names the scenarios with violations of this kind but none of the kind that stands in
// front: in how many there were those does not say that the lock was unsafe there. Told is the row
// that is named already.
func alsoUnder(say *lang.Lang, rows []result.Row, told result.Row, f, counted result.Figure, in *circumstances) string {
	return alsoIn(say, rowsWith(rows, func(r result.Row) bool {
		n, _ := f.Of(r)
		front, _ := counted.Of(r)
		return n > 0 && front == 0 && r.Scenario != told.Scenario
	}), f, in)
}

// alsoIn names the scenarios of rows with what there was of a violation, if they are few.
func alsoIn(say *lang.Lang, rows []result.Row, f result.Figure, in *circumstances) string {
	const most = 3
	switch {
	case len(rows) == 0:
		return ""
	case len(rows) > most:
		return " " + say.Sprintf("(also in %s more scenarios)", count(int64(len(rows))))
	}
	in.last = ""
	var also []string
	for _, r := range rows {
		all, _ := f.Of(r)
		one := say.Sprintf("%s: %s", plain(r.Scenario), count(int64(all)))
		if n := untouched(f, r); n > 0 {
			one = say.Sprintf("%[1]s: %[2]s, of which no fault touched %[3]s", plain(r.Scenario), count(int64(all)), count(int64(n)))
		}
		also = append(also, one)
	}
	return " " + say.Sprintf("(also under %s)", say.List(also))
}

// outages is the worst share of requests that were refused, failed or never answered, with
// how that ended, the longest time in which somebody waited and nobody got the lock, and where
// else it harmed its users.
func outages(say *lang.Lang, rows []result.Row, in *circumstances) string {
	counted, none := rowsWith(rows, asked), rowsWith(rows, nobodyServed)
	if len(counted)+len(none) == 0 {
		return say.Text("no request was measured")
	}
	available, _ := result.Lookup("availability")
	lost, _ := result.Lookup("holds_lost")
	stall, _ := result.Lookup(result.OutageField)
	at, share := worst(counted, available)
	waited, ms := worst(rows, stall)
	told := ms >= stall.Hurts
	if i := slices.IndexFunc(rows, down); i >= 0 && !told { // however short the fault was
		waited, told = rows[i], true
	}
	if i := slices.IndexFunc(rows, cutOffThroughout); i >= 0 && !told {
		waited, told = rows[i], true
	}
	text := say.Text("every request was served")
	if slices.ContainsFunc(rows, func(r result.Row) bool { return stillWaited(r) > 0 }) {
		text = say.Text("every request was served, or still waited for others at the end")
	}
	if share < 1 {
		text = say.Sprintf("%s %s of the requests failed", in.of(say, at), percent(1-share)) + whileItLasted(say, at)
		if at.RecoveryMS != nil && *at.RecoveryMS > 0 {
			text += say.Sprintf(", and it had recovered %s after the order to heal", span(say, *at.RecoveryMS))
		}
		text += atTheEnd(say, at)
		if parts := besidesFailures(say, at); len(parts) > 0 {
			text = say.Sprintf("%s; %s", text, strings.Join(parts, ", "))
		}
	}
	if len(counted) == 0 {
		text = ""
	}
	for _, r := range none {
		text = strings.TrimPrefix(text+"; "+say.Sprintf("%s nobody was served: %s still waited at the end", in.of(say, r), count(int64(stillWaited(r)))), "; ")
	}
	if at, n := worst(rowsWith(rows, func(r result.Row) bool { return len(r.Faults) == 0 }), lost); n > 0 {
		text = say.Sprintf("%s; %s", text, say.Count(int64(n), "1 hold was lost %s", "%[2]s holds were lost %[1]s", in.of(say, at)))
	}
	var already []result.Row
	if share < 1 {
		already = append(already, at)
	}
	longer, more := muchLongerEverywhere(rows, waited)
	more = more && told && (share == 1 || longer.Scenario != at.Scenario)
	without := func(r result.Row, first bool) {
		clause := ""
		if parts := harms(say, r); len(parts) > 1 || len(parts) > 0 && !first {
			clause = say.Sprintf("%s: %s", in.of(say, r), strings.Join(parts, ", "))
		} else {
			clause = say.Sprintf("%s %s", waitedFor(say, r), in.of(say, r))
		}
		text = say.Sprintf("%s; %s", text, clause)
		already = append(already, r)
	}
	if told && (share == 1 || waited.Scenario != at.Scenario) {
		without(waited, share == 1)
	}
	if more {
		without(longer, false)
	}
	return elsewhere(say, text, rows, already, in)
}

// elsewhere adds the rows that harmed users by anything but a violation and are not already told
// of, the worst first; the last of many are only counted.
func elsewhere(say *lang.Lang, text string, rows, already []result.Row, in *circumstances) string {
	const most = 3
	type harmed struct {
		row   result.Row
		parts []string
	}
	var all []harmed
	for _, r := range rows {
		if slices.ContainsFunc(already, func(o result.Row) bool { return o.Scenario == r.Scenario }) {
			continue
		}
		if parts := harms(say, r); len(parts) > 0 {
			all = append(all, harmed{r, parts})
		}
	}
	slices.SortStableFunc(all, func(a, b harmed) int { return cmp.Compare(a.row.Availability, b.row.Availability) })
	shown := min(len(all), max(most-len(already), 1))
	for _, h := range all[:shown] {
		text = say.Sprintf("%s; %s", text, say.Sprintf("%s: %s", in.of(say, h.row), strings.Join(h.parts, ", ")))
	}
	untold := slices.DeleteFunc(all[shown:], func(h harmed) bool { return in.told(h.row) })
	if rest := len(untold); rest > 0 {
		text = say.Sprintf("%s; %s", text, say.Count(int64(rest), "users were harmed in 1 more scenario", "users were harmed in %s more scenarios"))
	}
	return text
}

// harms is what of a row, besides violations, harms users.
func harms(say *lang.Lang, r result.Row) (parts []string) {
	for _, f := range result.Figures() {
		if f.As != result.Share || f.Answer == "" || meaningOf(f, r) != harm {
			continue
		}
		v, _ := f.Of(r)
		parts = append(parts, say.Sprintf("%s of the requests failed", percent(v))+whileItLasted(say, r)+atTheEnd(say, r))
	}
	return append(parts, besidesFailures(say, r)...)
}

// atTheEnd says that it was not over when the run was: the lock had not recovered, or could not, as not
// all that was broken was back.
func atTheEnd(say *lang.Lang, r result.Row) string {
	switch {
	case r.NotRecovered:
		return say.Text(", and it had not recovered by the end of the run")
	case r.RecoveryMS == nil && notBack(r):
		return say.Text(", and not all that was broken was back by the end of the measured part")
	}
	return ""
}

// besidesFailures is what harms users besides that requests failed.
func besidesFailures(say *lang.Lang, r result.Row) (parts []string) {
	var outage []string // a clause of its own: the last
	for _, f := range result.Figures() {
		if f.Answer == "" || f.Violation != "" || meaningOf(f, r) != harm {
			continue
		}
		switch v, _ := f.Of(r); {
		case f.As == result.Share: // they are told apart
		case f.Field == result.OutageField:
			outage = append(outage, waitedFor(say, r))
		case v < f.Hurts: // so many failed, and that is told
		default:
			parts = append(parts, say.Term(f.Answer)+" "+told(say, f, v))
		}
	}
	if len(outage) == 0 && (down(r) || cutOffThroughout(r)) {
		outage = append(outage, waitedFor(say, r))
	}
	return append(parts, outage...)
}

// whileItLasted is how many failed of those that came while something was broken, and of those that
// have nothing to do with that.
func whileItLasted(say *lang.Lang, r result.Row) string {
	var parts []string
	if during := r.AvailabilityInForce; during != nil && *during < 1 {
		parts = append(parts, say.Sprintf("%s of those while the fault lasted", percent(1-*during)))
	}
	if failed := failedUntouched(r); failed > 0 {
		parts = append(parts, say.Sprintf("%s of those that no fault touched", percent(failed)))
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + bracketed(strings.Join(parts, ", "))
}

// failedUntouched is the share that failed of the requests that no fault touched, where there was one
// and anybody noticed that.
func failedUntouched(r result.Row) float64 {
	if outside := r.AvailabilityOutside; outside != nil && len(r.Faults) > 0 && *outside < quietShare {
		return 1 - *outside
	}
	return 0
}

// keptAway says of which scenarios the failures, outages and recoveries contain that the lab kept servers
// away, and for how long: those that had lost their data, so that they grant nothing twice.
func keptAway(say *lang.Lang, rows []result.Row) (text string) {
	kept := func(r result.Row) (ms float64, back bool) {
		back = true
		for _, f := range r.Faults {
			ms, back = max(ms, f.KeptMS), back && (f.KeptMS == 0 || f.EndedMS != result.Never)
		}
		return ms, back
	}
	longest := 0.0
	back := rowsWith(rows, func(r result.Row) bool {
		ms, back := kept(r)
		if back {
			longest = max(longest, ms)
		}
		return back && ms > 0
	})
	if len(back) > 0 {
		text = say.Sprintf(" Under %s servers that had lost their data were kept away for up to %s after the order to heal, so that they grant nothing twice.", say.List(plainAll(scenariosOf(back))), span(say, longest))
	}
	if gone := rowsWith(rows, func(r result.Row) bool { _, back := kept(r); return !back }); len(gone) > 0 {
		text += say.Sprintf(" Under %s servers that had lost their data were kept away to the end of the run, so that they grant nothing twice.", say.List(plainAll(scenariosOf(gone))))
	}
	return text
}

// caveats names the scenarios whose figures judge nothing.
func caveats(say *lang.Lang, rows []result.Row) string {
	var unsure, unjudged []string
	for _, r := range rows {
		switch {
		case r.Verdict.Undecided():
			unsure = append(unsure, plain(r.Scenario))
		case r.Verdict.Safety == result.SafetyNotJudged:
			unjudged = append(unjudged, plain(r.Scenario))
		}
	}
	text := keptAway(say, rows)
	if len(unsure) > 0 {
		text += say.Sprintf(" Inconclusive: %s.", say.List(unsure))
	}
	if len(unjudged) > 0 && len(unjudged) < len(rows) {
		text += say.Sprintf(" Safety was not judged under %s.", say.List(unjudged))
	}
	return text
}
