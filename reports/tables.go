package reports

import (
	"cmp"
	"slices"
	"strings"

	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/reports/result"
)

// shown is the figure of a row for people.
func shown(say *lang.Lang, f result.Figure, r result.Row) string {
	v, ok := f.Of(r)
	safety, liveness := seen(say, r.Verdict)
	switch {
	case f.Column == "verdict_safety":
		return safety
	case f.Column == "verdict_liveness":
		return liveness
	case f.Column == "verdict_status" || f.Column == "expected_safety" || f.Column == "zombie_since":
		return plain(say.Term(orAbsent(f.Raw(r))))
	case f.Column == "expected_liveness" && len(r.Verdict.Expected.Liveness) > 0:
		var words []sentence.Text
		for _, word := range r.Verdict.Expected.Liveness {
			words = append(words, sentence.Term(word))
		}
		return plain(say.Tell(sentence.Or(words...)))
	case f.Column == "verdict_why":
		return why(say, r.Verdict)
	case f.IsText(): // names
		return orAbsent(f.Raw(r))
	case !ok:
		return absent
	case f.As == result.Count:
		return count(int64(v))
	case f.As == result.Share:
		return percent(v)
	}
	if i := slices.IndexFunc(f.Marks, func(m result.Mark) bool { return m.On(r) }); i >= 0 {
		return figure(v) + " " + f.Marks[i].Sign
	}
	return figure(v)
}

// legendOf explains the marks that stand beside the figures of the rows.
func legendOf(say *lang.Lang, figures []result.Figure, rows []result.Row) (lines []string) {
	for _, f := range figures {
		for _, m := range f.Marks {
			if slices.ContainsFunc(rows, m.On) {
				lines = append(lines, m.Sign+" "+say.Term(m.Means))
			}
		}
	}
	return lines
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
	var everywhere result.Figure // holds may overlap in each workload: it is about what only it counts, if anything
	for _, f := range result.Figures() {
		switch {
		case f.Violation == "" || !has(rows, f):
		case f.Field == "overlaps":
			everywhere = f
		default:
			return f
		}
	}
	return everywhere
}

// details are the tables of all figures. Those that no row has are only named.
type details struct {
	Tables  []detailTable
	Missing []string
}

// detailTable has the figures of some groups, as many as stand side by side on a screen of
// 1280 pixels.
type detailTable struct {
	Name    string
	Keys    []result.Figure // what row it is
	Groups  []columnGroup
	Columns []result.Figure
	Labels  []string // of the columns, where no group stands above
	Rows    []detailRow
	Legend  []string // of the marks in it
}

type columnGroup struct {
	Name string
	Span int
}

type detailRow struct {
	Keys  []string // the first is the row's header
	Cells []detailCell
}

type detailCell struct {
	Shown, Raw string
	Text, Long bool
}

// maxColumns is how many figures a table has, besides its keys; a sentence needs the room
// of longColumn.
const (
	maxColumns = 9
	longColumn = 4
)

func detailsOf(say *lang.Lang, rows []result.Row) details {
	var d details
	key := func(f result.Figure) bool {
		return f.Column == "lock" || f.Column == "scenario" || f.Column == "workload"
	}
	var keys []result.Figure
	groups := map[string][]result.Figure{}
	var names []string
	for _, f := range result.Figures() {
		switch {
		case f.Column == "" || f.Column == "workload" && len(workloadsOf(rows)) < 2:
		case key(f):
			keys = append(keys, f)
		case !has(rows, f):
			d.Missing = append(d.Missing, f.Column)
		default:
			if len(groups[f.Group]) == 0 {
				names = append(names, f.Group)
			}
			groups[f.Group] = append(groups[f.Group], f)
		}
	}
	room := 0
	for _, name := range names {
		need := 0
		for _, f := range groups[name] {
			if need++; f.As == result.Sentence {
				need += longColumn - 1
			}
		}
		if room -= need; room < 0 {
			d.Tables = append(d.Tables, detailTable{Keys: keys})
			room = maxColumns - need
		}
		t := &d.Tables[len(d.Tables)-1]
		t.Name = strings.TrimPrefix(t.Name+" · "+say.Term(name), " · ")
		t.Groups = append(t.Groups, columnGroup{say.Term(name), len(groups[name])})
		t.Columns = append(t.Columns, groups[name]...)
	}
	for i := range d.Tables {
		t := &d.Tables[i]
		t.Legend = legendOf(say, t.Columns, rows)
		t.Labels = labels(say, t.Columns)
		for _, r := range rows {
			var line detailRow
			for _, f := range keys {
				line.Keys = append(line.Keys, plain(f.Raw(r)))
			}
			for _, f := range t.Columns {
				line.Cells = append(line.Cells, detailCell{shown(say, f, r), plain(f.Raw(r)), f.IsText(), f.As == result.Sentence})
			}
			t.Rows = append(t.Rows, line)
		}
	}
	return d
}

// labels are the names of figures without their group, but with it where that name is not
// unique among them.
func labels(say *lang.Lang, figures []result.Figure) (all []string) {
	times := map[string]int{}
	for _, f := range figures {
		times[f.ShortName()]++
	}
	for _, f := range figures {
		label := say.Term(f.ShortName())
		if times[f.ShortName()] > 1 {
			label = say.Term(f.Group) + ": " + label
		}
		all = append(all, label)
	}
	return all
}
