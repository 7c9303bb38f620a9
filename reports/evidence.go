package reports

import (
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/result"
	"locklab/reports/series"
)

// EvidenceFile has what stands behind the figures of a run.
const EvidenceFile = "evidence.html"

// evidence is what happened around the violations of each row.
type evidence struct {
	Title string
	Locks []evidenceLock
	Rows  []evidenceRow
	inlined
}

// evidenceLock is the rows of one lock in the table of contents.
type evidenceLock struct {
	Lock string
	Rows []evidenceLink
}

type evidenceLink struct{ ID, Title, Scenario, Workload string }

type evidenceRow struct {
	ID, Title, Why string
	Note           string // what of its histories is missing
	Counts         []cellLine
	Errors         []string
	Histories      []string
	Faults         []ledgerEntry
	Scenes         []scene // of violations
	Outages        []scene // and of the longest outage, the slowest request and the first failed one
	Usage          *usage  // of its nodes; nil if unknown
}

type scene struct {
	Row, What, Text, At, Resource string
	Faults                        []string
	SVG                           template.HTML
	Shaded                        bool // a fault was in force in some of it
	More                          string
	Steps                         []sceneStep
}

type sceneStep struct {
	At, For, Who, What, Text string
	About                    bool
}

func evidenceOf(say *lang.Lang, l loaded) *evidence {
	f := result.Clean(l.File)
	e := &evidence{Title: title(say, f)}
	for i, r := range f.Results {
		row := evidenceRow{
			ID: rowID(r), Title: say.Sprintf("%s under %s, %s", plain(r.Lock), plain(r.Scenario), plain(r.Workload)), Why: why(say, r.Verdict),
			Counts: cellOf(say, r, violationOf([]result.Row{r})).Lines, Histories: plainAll(r.Histories), Faults: entriesOf(say, []result.Row{r}),
		}
		row.Note = plain(say.Tell(l.Notes[i]))
		row.Usage = usageOf(say, r, l.Series[i], row.Title)
		row.Errors = ErrorKinds(say, r.Errors)
		for _, s := range l.Scenes[i] {
			if s.LastsMS > 0 {
				row.Outages = append(row.Outages, sceneOf(say, row.Title, s))
			} else {
				row.Scenes = append(row.Scenes, sceneOf(say, row.Title, s))
			}
		}
		e.Rows = append(e.Rows, row)
	}
	several := len(workloadsOf(f.Results)) > 1
	for _, lock := range locksOf(f.Results) {
		line := evidenceLock{Lock: plain(lock)}
		for i, r := range f.Results {
			if r.Lock != lock {
				continue
			}
			link := evidenceLink{ID: e.Rows[i].ID, Title: e.Rows[i].Title, Scenario: plain(r.Scenario)}
			if several {
				link.Workload = plain(r.Workload)
			}
			line.Rows = append(line.Rows, link)
		}
		e.Locks = append(e.Locks, line)
	}
	return e
}

// ErrorKinds are the kinds of errors with their counts. That the lock does not know whether it
// was acquired is an error of its own: the operation that asked for it may have failed for sure.
func ErrorKinds(say *lang.Lang, errors map[string]int64) (all []string) {
	for _, kind := range slices.Sorted(maps.Keys(errors)) {
		text := plain(kind) + " " + count(errors[kind])
		if kind == "unknown" {
			text = say.Sprintf("%s (of the lock: it is not known whether it was acquired)", text)
		}
		all = append(all, text)
	}
	return all
}

func sceneOf(say *lang.Lang, row string, s series.Scene) scene {
	drawing, shaded := plots.Timeline(say, s)
	out := scene{
		Row:  row,
		What: say.Term(plain(s.What)), Text: begun(plain(say.Tell(s.Text))), At: say.Sprintf("%s ms", figure(math.Round(s.AtMS))), Resource: plain(s.Resource), Faults: plainAll(say.TellAll(s.Faults)),
		SVG: template.HTML(drawing), Shaded: shaded, More: MoreSteps(say, s), //nolint:gosec // drawn and escaped by plots
	}
	for _, step := range s.Steps {
		lasted := ""
		switch d := step.ToMS - step.FromMS; {
		case math.IsInf(d, 0):
			lasted = say.Text("no end on record")
		case d > 0:
			lasted = say.Sprintf("%s ms", strconv.FormatFloat(d, 'f', 1, 64))
		}
		out.Steps = append(out.Steps, sceneStep{Signed(step.FromMS), lasted, say.Term(plain(step.Who)), say.Term(step.What), plain(say.Tell(step.Text)), step.About})
	}
	return out
}

// begun is a sentence with a capital, unless it begins with a name, such as that of a node.
func begun(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) || unicode.Is(unicode.Hangul, r) }) {
		return text
	}
	return upper(text)
}

// MoreSteps says how much of a scene is left out; "" if nothing.
func MoreSteps(say *lang.Lang, s series.Scene) string {
	if s.More == 0 {
		return ""
	}
	return say.Count(int64(s.More), "1 more that is further from the moment is left out.", "%s more that are further from the moment are left out.")
}
