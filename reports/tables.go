package reports

import (
	"cmp"
	"slices"

	"locklab/reports/result"
)

// shown is the figure of a row for people.
func shown(f result.Figure, r result.Row) string {
	v, ok := f.Of(r)
	safety, liveness := seen(r.Verdict)
	switch {
	case f.Column == "verdict_safety":
		return safety
	case f.Column == "verdict_liveness":
		return liveness
	case f.IsText():
		return orAbsent(f.Raw(r))
	case !ok:
		return absent
	case f.As == result.Count:
		return count(int64(v))
	case f.As == result.Share:
		return percent(v)
	}
	return figure(v)
}

// chosen are the figures of a table that shows only some of them: those that any row
// has, in their order for such tables.
func chosen(rows []result.Row, choose func(result.Figure) bool) []result.Figure {
	var all []result.Figure
	for _, f := range result.Figures() {
		if choose(f) && (f.IsText() || has(rows, f)) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b result.Figure) int { return cmp.Compare(a.Place, b.Place) })
	return all
}

// has says whether any row has the figure.
func has(rows []result.Row, f result.Figure) bool {
	return slices.ContainsFunc(rows, func(r result.Row) bool { return f.Raw(r) != "" })
}

// violationOf is what the rows count that a lock is there to prevent; without a Violation if
// nothing.
func violationOf(rows []result.Row) result.Figure {
	for _, f := range result.Figures() {
		if f.Violation != "" && has(rows, f) {
			return f
		}
	}
	return result.Figure{}
}

// details is the table of all figures. Those that no row has are only named.
type details struct {
	Groups  []columnGroup
	Columns []result.Figure
	Rows    []detailRow
	Missing []string
}

type columnGroup struct {
	Name string
	Span int
}

type detailRow struct {
	Lock  string // the row's header
	Cells []detailCell
}

type detailCell struct {
	Shown, Raw string
	Text, Long bool
}

func detailsOf(rows []result.Row) details {
	var d details
	all := slices.DeleteFunc(result.Figures(), func(f result.Figure) bool { return f.Column == "" })
	groups := map[string]int{}
	for i, f := range slices.Backward(all) {
		groups[f.Group] = i
	}
	slices.SortStableFunc(all, func(a, b result.Figure) int { return cmp.Compare(groups[a.Group], groups[b.Group]) })
	for _, f := range all {
		if !has(rows, f) {
			d.Missing = append(d.Missing, f.Column)
			continue
		}
		d.Columns = append(d.Columns, f)
		if n := len(d.Groups); n > 0 && d.Groups[n-1].Name == f.Group {
			d.Groups[n-1].Span++
		} else {
			d.Groups = append(d.Groups, columnGroup{f.Group, 1})
		}
	}
	for _, r := range rows {
		line := detailRow{Lock: plain(r.Lock)}
		for _, f := range d.Columns {
			if f.Column != "lock" {
				line.Cells = append(line.Cells, detailCell{shown(f, r), plain(f.Raw(r)), f.IsText(), f.As == result.Sentence})
			}
		}
		d.Rows = append(d.Rows, line)
	}
	return d
}
