package table

import (
	"math"
	"strconv"

	"locklab/internal/sentence"
	"locklab/workloads/result"
)

// Absent stands where there is no figure.
const Absent = "-"

// Figure is a value of a figure as people read it.
func Figure(f result.Figure, v float64) string {
	switch f.As {
	case result.Duration:
		return Duration(v)
	case result.Share:
		return Share(v)
	case result.Count:
		return Count(v)
	default:
		return Number(v)
	}
}

// Duration is milliseconds with the unit that fits: 5.0 us, 1.3 ms, 2.8 s.
func Duration(ms float64) string {
	value, unit := Split(ms)
	if unit == "" {
		return value
	}
	return value + " " + unit
}

// Split is a duration as a number and its unit.
func Split(ms float64) (value, unit string) {
	if !finite(ms) {
		return Absent, ""
	}
	if ms == 0 {
		return "0", "ms"
	}
	for _, u := range []struct {
		unit  string
		scale float64
	}{{"us", 1000}, {"ms", 1}, {"s", 0.001}} {
		value, unit = short(ms*u.scale), u.unit
		if math.Abs(math.Round(ms*u.scale)) < 1000 {
			break
		}
	}
	return value, unit
}

func short(v float64) string {
	if math.Abs(v) < 9.95 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return sentence.Thousands(strconv.FormatFloat(v, 'f', 0, 64))
}

// Share is 0 to 1 as a percentage: 100% only of all, 0% only of none.
func Share(share float64) string {
	switch {
	case !finite(share):
		return Absent
	case share == 0 || share == 1:
		return strconv.Itoa(int(share*100)) + "%"
	case share < 1 && share > 0.9995:
		return "99.9+%"
	case share > 0 && share < 0.0005:
		return "<0.1%"
	default:
		return strconv.FormatFloat(share*100, 'f', 1, 64) + "%"
	}
}

// Count is a whole number with its thousands set apart.
func Count(n float64) string {
	if !finite(n) {
		return Absent
	}
	return sentence.Thousands(strconv.FormatFloat(n, 'f', 0, 64))
}

// Rate is a number per second, rounded to two significant digits: 44,000.
func Rate(v float64) string { return significant(v, 2) }

// Number has three significant digits.
func Number(v float64) string { return significant(v, 3) }

func significant(v float64, digits int) string {
	if !finite(v) {
		return Absent
	}
	if v == 0 {
		return "0"
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	if err != nil || !finite(rounded) {
		return Absent
	}
	after := digits - 1 - int(math.Floor(math.Log10(math.Abs(rounded))))
	return sentence.Thousands(strconv.FormatFloat(rounded, 'f', min(max(after, 0), 9), 64))
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
