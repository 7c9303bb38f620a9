package sweep

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/plots"
)

// Draw draws one figure for a page of [reports.WriteSheet], with a panel for each number of
// zones. All panels have the same axes.
func Draw(f Figure, points []Point) template.HTML {
	locks, zones := order(points)
	most := 0
	for _, p := range points {
		most = max(most, p.Peers)
	}
	axis := max(most, 2) // it begins with 1
	low, high := span(f, points)
	var out strings.Builder
	out.WriteString(`<div class="figures">`)
	for _, z := range zones {
		var curves []plots.Curve
		var found []string // with the most peers
		for _, lock := range locks {
			c := plots.Curve{Name: lock}
			for _, p := range points {
				v := f.of(p)
				if p.Lock != lock || p.Zones != z || v <= 0 {
					continue
				}
				c.Points = append(c.Points, plots.Peers{N: p.Peers, Value: v})
				if p.Peers == most {
					found = append(found, lock+" "+strconv.FormatFloat(v, 'g', 3, 64))
				}
			}
			curves = append(curves, c)
		}
		label := fmt.Sprintf("%s, in %s, against the number of peers, to %d: %s.", f.Title, f.Unit, most,
			fmt.Sprintf("in %d zones %s", z, strings.Join(found, ", ")))
		title, unit := fmt.Sprintf("%d zones", z), fmt.Sprintf("%s, on a logarithmic scale", f.Unit)
		fmt.Fprintf(&out, `<div><b>%s</b> <small>%s</small>%s</div>`, template.HTMLEscapeString(title), template.HTMLEscapeString(unit),
			plots.Growth(lang.English(), label, curves, axis, low, high))
	}
	out.WriteString(`</div>`)
	return template.HTML(out.String()) //nolint:gosec // drawn and escaped by plots, and the title is escaped
}

// span is the range of all panels, in whole powers of ten.
func span(f Figure, points []Point) (low, high float64) {
	low, high = math.Inf(1), 0
	for _, p := range points {
		if v := f.of(p); v > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	if high == 0 {
		return 1, 10
	}
	low, high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
	if low == high {
		high *= 10
	}
	return low, high
}
