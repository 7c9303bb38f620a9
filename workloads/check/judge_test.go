package check_test

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/workloads/check"
	"locklab/workloads/check/record"
	"locklab/workloads/result"
)

const ruler = "---\n"

// TestTranscripts draws histories and says what the checker finds. Each file under testdata has
// several, divided by "=== a title".
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, rest, _ := strings.Cut(string(testfile.Read(t, path)), "=== ")
			for one := range strings.SplitSeq(rest, "=== ") {
				drawn, _, _ := strings.Cut(one, ruler)
				_, body, _ := strings.Cut(drawn, "\n") // below the title
				d := draw(t, body)
				r, err := record.Of(d.events)
				must.Do(t, err)
				row := check.Judge(r)
				text += "=== " + drawn + ruler + tell(&row, d.show) + "\n"
			}
			testfile.Golden(t, path, strings.TrimRight(text, "\n")+"\n")
		})
	}
}

// tell is what a row says, but for figures that the transcript has no interest in.
func tell(row *result.Row, show []string) string {
	var b strings.Builder
	say := func(what, format string, args ...any) {
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-9s "+format, append([]any{what}, args...)...), " ") + "\n")
	}
	v := &row.Verdict
	say("sound", "%s", told(v.Sound))
	say("safety", "%s", told(v.Safety))
	say("liveness", "%s: %s", v.Word, told(v.Liveness))
	say("verdict", "%s %s", v.As, strings.TrimPrefix(told(v.Why), string(v.Why.State)+" "))
	show = append([]string{
		"duplicates", "unreachable", "overlaps", "tokens_back", "stale_writes", "lost_updates", "fenced_writes", "in_doubt",
		"outage_ms", "zone_outage_ms", "resource_outage_ms", "recovery_ms", "zombie_ms", "served", "served_in_fault",
	}, show...)
	var figures []string
	for _, f := range result.Figures() {
		if n, known := row.Of(f.Name); known && slices.Contains(show, f.Name) && n != 0 && (f.As != result.Share || n != 1) {
			figures = append(figures, f.Name+" "+digits(n))
		}
	}
	say("figures", "%s", strings.Join(figures, ", "))
	for _, f := range row.Faults {
		if f.Unasked || !f.Proven {
			say("fault", "%s %s %s, unasked %v, proven %v: %s", f.ID, f.Kind, f.Target, f.Unasked, f.Proven, f.Why)
		}
	}
	for _, o := range row.Outages {
		if o.MS() >= 500 {
			say("outage", "%s from %s to %s%s", cmp.Or(o.Of, "the lock"), short(o.FromMS), short(o.ToMS), map[bool]string{true: ", open"}[o.Open])
		}
	}
	for i := range row.Violations {
		w := &row.Violations[i]
		say("violation", "%s at %s of %s: %s, then %s%s", w.Code, short(w.AtMS), w.Resource, party(&w.First), party(&w.Second), map[bool]string{true: "; excused"}[w.Excused])
	}
	return b.String()
}

// digits has at least three of a number.
func digits(n float64) string {
	if n >= 100 {
		return short(math.Round(n))
	}
	return strconv.FormatFloat(n, 'g', 3, 64)
}

func told(s result.Statement) string {
	words := []string{string(s.State), string(s.Code)}
	if s.N != 0 {
		words = append(words, short(s.N))
	}
	return strings.Join(strings.Fields(strings.Join(append(words, s.Of), " ")), " ")
}

func party(p *result.Party) string {
	words := []string{p.Node, p.Hold, p.Room, p.Worker}
	if p.Token > 0 {
		words = append(words, fmt.Sprint("token ", p.Token))
	}
	to := "the end"
	if p.ToMS != result.Never {
		to = short(p.ToMS)
	}
	return strings.Join(strings.Fields(strings.Join(append(words, short(p.FromMS), "to", to), " ")), " ")
}

// short is a number with three digits behind the point.
func short(n float64) string { return strconv.FormatFloat(math.Round(n*1000)/1000, 'f', -1, 64) }
