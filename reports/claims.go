package reports

import (
	"fmt"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// claimLine is what the rows make of a claim.
type claimLine struct {
	Claim, Source         string
	Shape, Verdict, Class string
	Rows                  []claimRow
}

// claimRow is one row that decides a claim.
type claimRow struct {
	ID, Row, Verdict string // ID is that of the row on the pages
}

func claimsOf(say *lang.Lang, f result.File) (lines []claimLine) {
	for _, c := range f.Run.Claims {
		line := claimLine{Claim: plain(say.Term(c.Claim)), Source: plain(say.Term(c.Source))}
		line.Shape, line.Verdict, line.Class = claimVerdict(say, c.Verdict)
		for _, e := range c.Evidence {
			_, word, _ := claimVerdict(say, e.Verdict)
			line.Rows = append(line.Rows, claimRow{
				rowID(result.Row{Lock: e.Lock, Scenario: e.Scenario, Workload: e.Workload}),
				say.Sprintf("%s under %s", plain(e.Lock), plain(e.Scenario)), word,
			})
		}
		lines = append(lines, line)
	}
	return lines
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
			text := row.Row
			if row.Verdict != c.Verdict {
				text += " (" + row.Verdict + ")"
			}
			rows = append(rows, text)
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
