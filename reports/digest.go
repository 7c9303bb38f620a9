package reports

import (
	"fmt"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// Digest is a run in a list of runs.
type Digest struct {
	Title, Started string
	Check          string   // what the lab's own check came to
	Locks          []string // one line for each
}

// DigestOf says of a run what a list has room for.
func DigestOf(say *lang.Lang, f result.File) Digest {
	f = result.Clean(f)
	d := Digest{Title: title(say, f), Started: startedText(f.Run.Started)}
	c := checkOf(say, f.Results)
	if d.Check = c.Quiet; len(c.Loud) > 0 {
		d.Check = c.Loud[0].Plain()
	}
	if end := ending(say, f.Run); end.Topic != "" {
		d.Check = end.Topic + ". " + d.Check
	}
	for _, a := range answersOf(say, []result.File{f}, nil) {
		for _, r := range a.Rows {
			var parts []string
			for _, c := range r.Cells[:min(len(r.Cells), 4)] {
				parts = append(parts, fmt.Sprintf("%s %s %s", c.Title, c.Meaning.Shape(), c.Value))
			}
			d.Locks = append(d.Locks, r.Lock+": "+strings.Join(parts, ", "))
		}
	}
	return d
}
