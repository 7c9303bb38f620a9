package plots

import "fmt"

// The layout of a whisker, in its own units.
const (
	whiskerWidth  = 110.0
	whiskerHeight = 12.0
)

// Whisker draws where a figure lies between low and high, on an axis from 0 to 1. It adds to
// figures that are told as text beside it, and says nothing to who cannot see it.
func Whisker(ink Ink, low, center, high float64) []byte {
	s := &svg{}
	x := func(v float64) float64 { return 4 + min(max(v, 0), 1)*(whiskerWidth-8) }
	const middle, arm = whiskerHeight / 2, 3.0
	s.stroke(pen{inkAxis, 0.5, ""}, []point{{1, middle}, {whiskerWidth - 1, middle}})
	s.stroke(pen{ink, 2, ""}, []point{{x(low), middle}, {x(high), middle}})
	s.stroke(pen{ink, 1.2, ""}, []point{{x(low), middle - arm}, {x(low), middle + arm}}, []point{{x(high), middle - arm}, {x(high), middle + arm}})
	c := x(center)
	s.fill(ink, point{c - 3, middle}, point{c, middle - 3.5}, point{c + 3, middle}, point{c, middle + 3.5})
	return fmt.Appendf(nil, `<svg class="whisker" viewBox="0 0 %s %s" aria-hidden="true" focusable="false">%s</svg>`, short(whiskerWidth), short(whiskerHeight), s.Bytes())
}
