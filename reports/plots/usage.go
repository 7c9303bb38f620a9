package plots

import (
	"math"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/series"
)

// UsageLine is one node in a figure of what nodes use.
type UsageLine struct {
	Ink   Ink // of its role
	Usage series.Usage
}

// Usage draws what the nodes of a run used over time: a strip each for CPUs, memory and
// bytes through links, with a line for each node. The faults of over are shaded.
func Usage(say *lang.Lang, title string, nodes []UsageLine, over series.Series) []byte {
	strips := []struct {
		name string
		of   func(series.UsageBin) float64
		most func(v float64) string
	}{
		{say.Text("CPUs"), func(b series.UsageBin) float64 { return b.CPUs }, func(v float64) string { return number(v) }},
		{say.Text("memory"), func(b series.UsageBin) float64 { return b.MemoryMiB }, func(v float64) string { return number(v) + " MiB" }},
		{say.Text("through links"), func(b series.UsageBin) float64 { return b.BytesPerS / 1024 }, func(v float64) string { return number(v) + " KiB/s" }},
	}
	lines := make([]Line, len(strips)) // overTime wants one for each strip
	for i := range lines {
		lines[i].Series = series.Series{DurationMS: over.DurationMS, Faults: over.Faults}
	}
	r := overTime(say, lines, 64, 4, []tick{{0, "0"}, {1, ""}})
	var said []string
	for i, s := range strips {
		high, most, who := 0.0, 0.0, ""
		for _, n := range nodes {
			for _, b := range n.Usage.Bins {
				if v := s.of(b); v > most {
					most, who = v, n.Usage.Node
				}
			}
		}
		high = roundUp(most, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
		for _, n := range nodes {
			r.usage(i, n, high, s.of)
		}
		y := r.level(i, 1) - 4
		r.text(point{leftMargin + 1, y}, s.name, "", "", "name k-text")
		note := say.Text("not measured")
		if who != "" {
			note = say.Sprintf("up to %[1]s, %[2]s", s.most(rounded(most)), Clip(who, 20))
			r.text(point{leftMargin - 3, r.level(i, 1) - descent}, number(high), "end", "0.56em", "")
		}
		r.text(point{r.right - 1, y}, note, "end", "", "")
		said = append(said, s.name+": "+note)
	}
	return r.end(say.Sprintf("What each node of %[1]s used over time. %[2]s.", title, strings.Join(said, "; ")))
}

// usage draws one node in one strip. It breaks where nothing is known.
func (r rows) usage(i int, n UsageLine, high float64, of func(series.UsageBin) float64) {
	pieces := unbroken(n.Usage.Bins, of, r.dash(n.Usage.BinMS), func(j int, _ series.UsageBin, v float64) point {
		return point{min(r.x((float64(j)+0.5)*n.Usage.BinMS/1000), r.right), r.level(i, v/high)}
	})
	r.stroke(pen{n.Ink, 1.1, ""}, pieces...)
}

// rounded keeps two digits.
func rounded(v float64) float64 {
	power := math.Pow(10, 1-math.Floor(math.Log10(v)))
	return math.Round(v*power) / power
}
