package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// Digest is a run in a list of runs, or a comparison of some. It is empty of what is neither.
type Digest struct {
	Title, Started string
	Status         status // the worst of all verdicts
	Check          string // what the lab's own check came to, or the comparison
	Locks          []digestLock
	Said           []string // all that a comparison came to
}

// Verdict is the status in words.
func (d Digest) Verdict() string { return strings.TrimSpace(d.Status.Shape + " " + d.Status.Word) }

// digestLock has the figures of a lock that a list has room for.
type digestLock struct {
	Lock, Ink string
	Cells     []answerCell
}

// digestColumns are what is told of every lock in a list; the first is what its workload
// counts that a lock is to prevent.
func digestColumns(say *lang.Lang) []string {
	return []string{say.Text("violations"), say.Term("failed requests"), say.Term("longest outage"), say.Term("request p99")}
}

// DigestOf says of a run what a list has room for.
func DigestOf(say *lang.Lang, f result.File) Digest {
	f = result.Clean(f)
	d := Digest{Title: title(say, f), Started: startedText(f.Run.Started), Status: worstStatus(say, f.Results)}
	if d.Status.Class == "ok" {
		d.Status.Class = "none" // it is about the lab: green, it would praise the locks
	}
	if at := workloadsOf(f.Results); len(at) > 0 {
		d.Title += ", " + say.List(plainAll(at))
	}
	c := checkOf(say, f.Results)
	if d.Check = c.Quiet; len(c.Loud) > 0 {
		d.Check = c.Loud[0].Plain()
	}
	if end := ending(say, f.Run); end.Topic != "" {
		d.Check = strings.TrimSpace(end.Topic + ". " + d.Check)
	}
	for _, a := range answersOf(say, []result.File{f}, nil, []string{""}) {
		for _, r := range a.Rows {
			line := digestLock{Lock: r.Lock, Ink: r.Ink}
			for i, title := range digestColumns(say) {
				cell := answerCell{Title: title, Value: absent}
				for j, column := range a.Columns {
					if i == 0 && column.Violation != "" || say.Term(column.Answer) == title {
						cell = r.Cells[j]
					}
				}
				line.Cells = append(line.Cells, cell)
			}
			d.Locks = append(d.Locks, line)
		}
	}
	return d
}

// Asides are what must be known beside the figure.
func (c answerCell) Asides() []string {
	return slices.DeleteFunc([]string{c.Besides, c.Note, c.Elsewhere}, func(text string) bool { return text == "" })
}

// bracketed is text in brackets; "" stays.
func bracketed(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

// Lines are the locks' figures for a console, one line for each.
func (d Digest) Lines() []string {
	var lines []string
	for _, l := range d.Locks {
		var parts []string
		for _, c := range l.Cells {
			if c.Value != absent {
				parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", c.Title, c.Meaning.Shape(), c.Value, bracketed(strings.Join(c.Asides(), ", ")))))
			}
		}
		lines = append(lines, l.Lock+": "+strings.Join(parts, ", "))
	}
	return lines
}

// worstStatus is the verdict that decides the exit code of a run.
func worstStatus(say *lang.Lang, rows []result.Row) status {
	for _, s := range []string{result.StatusViolated, result.StatusControlSilent, result.StatusInconclusive, result.StatusExpected, result.StatusNotJudged} {
		if slices.ContainsFunc(rows, func(r result.Row) bool { return r.Verdict.Status == s }) {
			return statusOf(say, result.Verdict{Status: s})
		}
	}
	return statusOf(say, result.Verdict{})
}

// Listed is a report in a list of reports.
type Listed struct {
	Name string // its directory
	Page string // of it in another language than English, where there is one
	Digest
}

// On is when what has no beginning of its own was written.
func (d Digest) On(t time.Time) Digest {
	if d.Started == "" {
		d.Started = startedText(t)
	}
	return d
}

// listing is the page that lists reports.
type listing struct {
	Reports  []Listed
	Columns  []string
	Meanings string
	inlined
}

// ListPage is the page that lists reports, with links to their directories beside it.
func ListPage(say *lang.Lang, found []Listed) ([]byte, error) {
	return html(say, "list.html", PageFile, &listing{Reports: found, Columns: digestColumns(say), Meanings: say.Text(meaningsNote)})
}
