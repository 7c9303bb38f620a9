package reports

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/reports/result"
)

// reason is why several rows have their verdict: one clause, in which numbers that differ are
// told from the lowest to the highest.
type reason struct {
	why  sentence.Text
	rows []result.Row
}

// byReason puts rows together that have their verdict for the same reason. Of those that decide
// nothing the reason is enough: what was seen in them stands in their cells.
func byReason(rows []result.Row) (all []reason) {
	var whys [][]sentence.Text
	for _, r := range rows {
		why := r.Verdict.Told()
		alike := func(have []sentence.Text) bool { return have[0].String() == why.String() }
		if r.Verdict.Status == result.StatusInconclusive {
			why = withoutCounts(why)
			alike = func(have []sentence.Text) bool { return sameShape(have[0], why) }
		}
		i := slices.IndexFunc(whys, alike)
		if i < 0 {
			i, whys, all = len(all), append(whys, nil), append(all, reason{})
		}
		whys[i], all[i].rows = append(whys[i], why), append(all[i].rows, r)
	}
	for i := range all {
		all[i].why = ranging(whys[i])
	}
	return all
}

// withoutCounts is why a run decides nothing, without what was counted in it nevertheless.
func withoutCounts(why sentence.Text) sentence.Text {
	at := map[string]int{"%s; there were %s": 0, "%s. %s": 0, "%s. An earlier try that decides nothing showed %s": 0}
	if i, known := at[why.Form]; known && i < len(why.Args) {
		return withoutCounts(why.Args[i])
	}
	return why
}

// sameShape says that two clauses differ in numbers only.
func sameShape(a, b sentence.Text) bool {
	_, numberA := number(a)
	_, numberB := number(b)
	return a.Form == b.Form && (a.Name == b.Name || numberA && numberB) && slices.EqualFunc(a.Args, b.Args, sameShape)
}

func number(t sentence.Text) (float64, bool) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(t.Name, ",", ""), 64)
	return v, err == nil && t.Form == "" && !math.IsNaN(v)
}

// ranging is one clause for several of one shape.
func ranging(all []sentence.Text) sentence.Text {
	t := all[0]
	t.Args = slices.Clone(t.Args)
	for i := range t.Args {
		var parts []sentence.Text
		for _, one := range all {
			parts = append(parts, one.Args[i])
		}
		t.Args[i] = ranging(parts)
	}
	if _, is := number(t); is {
		order := func(a, b sentence.Text) int {
			x, _ := number(a)
			y, _ := number(b)
			return cmp.Compare(x, y)
		}
		if low, high := slices.MinFunc(all, order), slices.MaxFunc(all, order); low.Name != high.Name {
			return sentence.Of("%s to %s", low, high)
		}
	}
	return t
}

// rowNames names some rows, and counts the others.
func rowNames(say *lang.Lang, rows []result.Row, most int) string {
	var names []string
	for _, r := range rows[:min(len(rows), most)] {
		names = append(names, say.Sprintf("%s under %s", named(r.Lock), plain(r.Scenario)))
	}
	if more := len(rows) - most; more > 0 {
		return strings.Join(names, ", ") + " " + say.Sprintf("and %d more", more)
	}
	return say.List(names)
}
