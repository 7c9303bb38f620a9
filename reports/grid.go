package reports

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/result"
)

const gridNote = "S safe, U unsafe, - no violation seen where none is judged; l live, s stalls, d down, x dead, - not judged, and too few asked while a fault lasted; " +
	"! not what the scenario expects; ? inconclusive; . the scenario does not apply to the lock; blank: the two were not run together."

// Grid writes the result of a suite for a console: of each workload a table of locks and
// scenarios, with a letter for safety and one for liveness in every cell, and what was made
// of the claims. Lines are at most width columns wide (below 60 counts as 60, 0 as 100).
// Colours are besides letters.
func Grid(w io.Writer, say *lang.Lang, f result.File, width int, colour bool) error {
	if width == 0 {
		width = 100
	}
	width = max(width, 60)
	f = result.Clean(f)
	var out strings.Builder
	for _, workload := range workloadsOf(f.Results) {
		rows := rowsWith(f.Results, func(r result.Row) bool { return r.Workload == workload })
		writeGrid(&out, say, f.Run, workload, rows, width, colour)
	}
	fmt.Fprintln(&out, Wrap(say.Text(gridNote), width, 0))
	writeTries(&out, say, f, width)
	writeClaims(&out, say, f, width, colour)
	_, err := io.WriteString(w, out.String())
	return err
}

func writeGrid(out *strings.Builder, say *lang.Lang, run result.Run, workload string, rows []result.Row, width int, colour bool) {
	locks, scenarios := locksOf(rows), scenariosOf(rows)
	// All of a name, and as many scenarios beside it as fit; the others are a table below.
	const cell, least = 4, 5
	name := Columns(say.Text("lock"))
	for _, lock := range locks {
		name = max(name, min(Columns(lock), width-cell*least))
	}
	fmt.Fprintf(out, "%s:\n", plain(workload))
	for begin := 0; begin < len(scenarios); {
		end := min(begin+(width-name)/cell, len(scenarios))
		out.WriteString(pad(say.Text("lock"), name, true))
		for i := begin; i < end; i++ {
			out.WriteString(pad(strconv.Itoa(i+1), cell, false))
		}
		out.WriteByte('\n')
		for _, lock := range locks {
			type letters struct{ text, class string }
			var line []letters
			said := begin == 0 // a lock that says nothing in a table below is not in it
			for _, scenario := range scenarios[begin:end] {
				text, class := gridCell(run, rows, lock, scenario)
				line = append(line, letters{text, class})
				said = said || strings.Trim(text, ".") != ""
			}
			if !said {
				continue
			}
			out.WriteString(pad(plots.Clip(plain(lock), name), name, true))
			for _, c := range line {
				text, class := pad(c.text, cell, false), c.class
				if colour {
					text = ansi(class) + text + "\x1b[0m"
				}
				out.WriteString(text)
			}
			out.WriteByte('\n')
		}
		begin = end
	}
	var numbered []string
	for i, scenario := range scenarios {
		numbered = append(numbered, fmt.Sprintf("%d %s", i+1, plain(scenario)))
	}
	fmt.Fprintf(out, "%s\n\n", Wrap(strings.Join(numbered, ", "), width, 2))
}

// unfit says that a scenario was left out for a lock because it does not apply.
func unfit(run result.Run, lock, scenario string) bool {
	return slices.ContainsFunc(run.Unfit, func(u result.Unfit) bool { return u.Lock == lock && u.Scenario == scenario })
}

// gridCell is what a row says in two letters, and its class.
func gridCell(run result.Run, rows []result.Row, lock, scenario string) (text, class string) {
	i := slices.IndexFunc(rows, func(r result.Row) bool { return r.Lock == lock && r.Scenario == scenario })
	if i < 0 {
		if unfit(run, lock, scenario) {
			return ".", "none"
		}
		return "", "none"
	}
	v := rows[i].Verdict
	safety := map[string]string{result.Safe: "S", result.Unsafe: "U"}[v.Safety]
	if safety == "" {
		safety = "-"
	}
	liveness := v.Liveness[:min(1, len(v.Liveness))]
	switch v.Liveness {
	case result.LivenessNotJudged:
		liveness = "-"
	case "dead":
		liveness = "x"
	}
	text = safety + liveness
	if v.Undecided() {
		return "?", "warn"
	}
	switch v.Status {
	case result.StatusViolated, result.StatusControlSilent:
		return text + "!", "bad"
	case result.StatusExpected:
		switch { // coloured by what it means for a user
		case v.Safety == result.Unsafe:
			return text, "bad"
		case v.Liveness == result.LivenessNotJudged:
			return text, "none"
		case v.Liveness != "live":
			return text, "warn"
		}
		return text, "ok"
	default:
		return text, "none"
	}
}

// writeTries says of repeated rows how often a violation was seen.
func writeTries(out *strings.Builder, say *lang.Lang, f result.File, width int) {
	head := false
	for _, r := range f.Results {
		if r.Tries == nil {
			continue
		}
		if !head {
			fmt.Fprintf(out, "\n%s\n", Wrap(say.Text("In how many of the repeats that decide it a violation was seen, and how many decide nothing:"), width, 0))
			head = true
		}
		seen, all := r.Tries.Seen, r.Tries.Seen+r.Tries.Unseen
		text := say.Sprintf("%s under %s: %d of %d, %d undecided", plain(r.Lock), plain(r.Scenario), seen, all, r.Tries.Undecided)
		if want := r.Verdict.Expected.Safety; want != "" {
			text += " (" + say.Sprintf("expected %s", say.Term(want)) + ")"
		}
		fmt.Fprintln(out, Wrap(text, width, 2))
	}
}
