package plots

import (
	"math"
	"strings"

	"locklab/reports/lang"
)

// Percentiles draws the distribution of the latency: the axis of 1/(1-q) gives
// the rare slow requests as much room as the common fast ones.
func Percentiles(say *lang.Lang, scenario string, lines []Line, scale Scale) []byte {
	deepest := 10.0
	for _, l := range lines {
		if n := len(l.Series.Quantiles); n > 0 {
			deepest = max(deepest, 1/(1-l.Series.Quantiles[n-1].Q))
		}
	}
	percents := []string{"0", "50", "90", "99", "99.9", "99.99", "99.999", "99.9999"}
	var ticks []tick
	for i, inverse := range []float64{1, 2, 10, 100, 1e3, 1e4, 1e5, 1e6} {
		ticks = append(ticks, tick{math.Log10(inverse), percents[i]})
	}
	f := newFrame(200, 180, math.Log10(deepest), say.Text("percentile of the requests"), ticks)
	y := f.logarithmic(scale.LatencyLow, scale.LatencyHigh)
	var ends []end
	said := []string{say.Text("Distribution of the latency") + ", " + scenario}
	for i, l := range lines {
		var line []point
		for j, q := range l.Series.Quantiles {
			at := point{f.x(-math.Log10(1 - q.Q)), y(max(q.MS, scale.LatencyLow))}
			if j == 0 {
				line = append(line, at)
			}
			line = append(line, at)
		}
		if n := len(l.Series.Quantiles); n > 0 {
			f.stroke(pen{l.Ink, 1.8, dashes(i)}, line)
			ends = append(ends, end{l, line[n], 0})
			said = append(said, say.Sprintf("%s up to %s ms", l.Name, number(math.Round(l.Series.Quantiles[n-1].MS*10)/10)))
		}
	}
	f.label(ends, wideLetter)
	return f.end(strings.Join(said, "; "))
}
