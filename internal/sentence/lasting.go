package sentence

import (
	"math"
	"strconv"
	"time"
)

// Lasting is a length of time for people, the same wherever they read one: 12.4 ms, 2.7 s,
// 1 min 20 s. What is a whole number of its unit, as settings are, has no digits after the point.
func Lasting(d time.Duration) Text {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	in := func(unit time.Duration, digits func(float64) int) Text {
		v, n := float64(d)/1e6*float64(time.Millisecond/unit), 0
		if unit == time.Second {
			v = d.Seconds()
		}
		if d%unit != 0 {
			n = digits(v)
		}
		return Name(sign + strconv.FormatFloat(v, 'f', n, 64))
	}
	whole := func(n time.Duration) Text { return Name(sign + strconv.FormatInt(int64(n), 10)) }
	minutes, seconds := d.Round(time.Second)/time.Minute, d.Round(time.Second)%time.Minute/time.Second
	switch {
	case d >= time.Minute-50*time.Millisecond && seconds == 0:
		return Of("%s min", whole(minutes))
	case d >= time.Minute:
		return Of("%s min %d s", whole(minutes), int64(seconds))
	case d == 0, d >= 999_500*time.Microsecond:
		return Of("%s s", in(time.Second, func(float64) int { return 1 }))
	case d < 99_500*time.Nanosecond:
		return Of("%s µs", in(time.Microsecond, Digits))
	}
	return Of("%s ms", in(time.Millisecond, Digits))
}

// Digits is how many digits after the point keep a number at about three significant ones.
func Digits(v float64) int {
	switch a := math.Abs(v); {
	case a >= 100 || a == 0:
		return 0
	case a >= 10:
		return 1
	case a >= 0.1:
		return 2
	default:
		return 4
	}
}
