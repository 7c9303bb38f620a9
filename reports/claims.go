package reports

import (
	"fmt"
	"slices"
	"strings"

	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/reports/result"
)

// claimLine is what the rows make of a claim.
type claimLine struct {
	Claim, Source         string
	Shape, Verdict, Class string
	Rows                  []claimRow
}

// claimRow is one row that decides a claim, by one or more of the things that it shows.
type claimRow struct {
	ID, Row string // ID is that of the row on the pages
	Shows   []claimShows
}

// claimShows is what is looked for in a row, and what came of it.
type claimShows struct{ What, Verdict string }

// told are all of them: what is looked for, and what mark makes of its verdict behind it.
func (r claimRow) told(mark func(verdict string) string) string {
	var all []string
	for _, s := range r.Shows {
		all = append(all, s.What+mark(s.Verdict))
	}
	return strings.Join(all, ", ")
}

// Told are all of them, each with its verdict.
func (r claimRow) Told() string {
	return r.told(func(verdict string) string { return " " + verdict })
}

func claimsOf(say *lang.Lang, f result.File) (lines []claimLine) {
	for _, c := range f.Run.Claims {
		line := claimLine{Claim: plain(say.Term(c.Claim)), Source: plain(say.Term(c.Source))}
		line.Shape, line.Verdict, line.Class = claimVerdict(say, c.Verdict)
		for _, e := range c.Evidence {
			_, word, _ := claimVerdict(say, e.Verdict)
			id := rowID(result.Row{Lock: e.Lock, Scenario: e.Scenario, Workload: e.Workload})
			i := slices.IndexFunc(line.Rows, func(r claimRow) bool { return r.ID == id })
			if i < 0 {
				i = len(line.Rows)
				line.Rows = append(line.Rows, claimRow{ID: id, Row: say.Sprintf("%s under %s", plain(e.Lock), plain(e.Scenario))})
			}
			line.Rows[i].Shows = append(line.Rows[i].Shows, claimShows{wantedText(say, e.Wanted), word})
		}
		lines = append(lines, line)
	}
	return lines
}

// wantedText is what a row must show: any of some words of its verdict, or the threshold of a
// figure as the suite has it.
func wantedText(say *lang.Lang, wanted []string) string {
	var words []sentence.Text
	for _, w := range wanted {
		words = append(words, sentence.Name(say.Term(plain(w))))
	}
	return say.Tell(sentence.Or(words...))
}

// claimVerdict is how what was made of a claim is shown: by a shape and a word.
func claimVerdict(say *lang.Lang, verdict string) (shape, word, class string) {
	switch verdict {
	case result.ClaimShown:
		return "✓", say.Text("shown"), "ok"
	case result.ClaimRefuted:
		return "✗", say.Text("refuted"), "bad"
	case result.ClaimPartly:
		return "△", say.Text("shown only under some"), "warn"
	case result.ClaimNotRun:
		return "·", say.Text("not run"), "none"
	default:
		return "?", say.Text("undecided"), "none"
	}
}

// ClaimsTable is what a result makes of the claims of its suite, as Markdown.
func ClaimsTable(say *lang.Lang, f result.File) (string, error) {
	text, err := markdown(say, "claims.md", "", claimsOf(say, result.Clean(f)))
	return string(text), err
}

func writeClaims(out *strings.Builder, say *lang.Lang, f result.File, width int, colour bool) {
	lines := claimsOf(say, f)
	if len(lines) > 0 {
		fmt.Fprintf(out, "\n%s\n", say.Text("The claims, as this result decides them:"))
	}
	for _, c := range lines {
		var rows []string
		for _, row := range c.Rows {
			rows = append(rows, row.Row+": "+row.told(func(verdict string) string {
				if verdict == c.Verdict {
					return ""
				}
				return " (" + verdict + ")"
			}))
		}
		text := Wrap(fmt.Sprintf("%s %s: %s (%s) [%s]", c.Shape, c.Verdict, c.Claim, c.Source, strings.Join(rows, "; ")), width, 2)
		if colour {
			text = ansi(c.Class) + c.Shape + "\x1b[0m" + strings.TrimPrefix(text, c.Shape)
		}
		fmt.Fprintln(out, text)
	}
	if len(lines) > 0 {
		fmt.Fprintln(out, Wrap(say.Text("What is safe here showed no violation in these runs; no run shows more."), width, 0))
	}
}
