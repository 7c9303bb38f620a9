package sentence

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Lasting is a length of time to about three digits: 12.4ms, 2.71s, 4m21s.
func Lasting(d time.Duration) time.Duration {
	for unit := time.Second; unit > 1; unit /= 10 {
		if d.Abs() >= 100*unit {
			return d.Round(unit)
		}
	}
	return d
}

// Group writes a whole number with its thousands set apart by commas, as in all languages.
func Group(n int64) string { return Thousands(strconv.FormatInt(n, 10)) }

// Thousands sets the thousands of a decimal number apart.
func Thousands(digits string) string {
	sign, whole, fraction := "", digits, ""
	if rest, negative := strings.CutPrefix(whole, "-"); negative {
		sign, whole = "-", rest
	}
	if before, after, found := strings.Cut(whole, "."); found {
		whole, fraction = before, "."+after
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return sign + whole + fraction
}

// Plural writes "1 room" and "2 rooms".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
