package reports

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/reports/result"
)

// absent stands in tables where there is no figure.
const absent = "–"

// figure writes a number for people: about three significant digits, thousands
// separated by commas.
func figure(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return absent
	}
	return lang.Thousands(strconv.FormatFloat(v, 'f', sentence.Digits(v), 64))
}

// moment is a time in the run, which may never have come.
func moment(ms float64) string {
	if ms == result.Never {
		return absent
	}
	return figure(ms)
}

func count(n int64) string { return lang.Group(n) }

// span writes milliseconds as a length of time in a sentence: 12.4 ms, 6.1 s.
func span(say *lang.Lang, ms float64) string {
	ns := math.Round(ms * 1e6)
	if !(math.Abs(ns) < math.MaxInt64) {
		return say.Text("an unknown time")
	}
	return say.Lasting(time.Duration(ns))
}

func percent(share float64) string {
	switch {
	case math.IsNaN(share) || math.IsInf(share, 0):
		return absent
	case share < 1 && share > 0.9995:
		return "99.9+%" // 100% is said only of what never failed
	case share > 0 && share < 0.001:
		return "<0.1%" // and 0% only of what never happened; 0.1% is what users notice of failed requests
	default:
		return strconv.FormatFloat(share*100, 'f', 1, 64) + "%"
	}
}

// Plural writes "1 room" and "2 rooms".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(int64(n)) + " " + noun + "s"
}

// lower makes the first letter of a sentence small, to use it inside of another.
func lower(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToLower(first)) + text[size:]
}

// upper is text with a capital.
func upper(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// plain makes text of a file safe to print on one line anywhere: control
// characters, among them terminal escapes and line ends, become a mark.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		// Format characters (Cf) can reverse the text around them; private ones (Co)
		// mark names inside of findings.
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) {
			return '\uFFFD'
		}
		return r
	}, text)
}

func times(say *lang.Lang, ratio float64) string {
	if ratio < 0.1 {
		return say.Sprintf("%.2g×", ratio)
	}
	return say.Sprintf("%.1f×", ratio)
}

// Signed is a time, in milliseconds, beside another one; what rounds to nothing is neither
// before nor after it.
func Signed(ms float64) string {
	if math.Abs(ms) < 0.05 {
		return "0.0"
	}
	return fmt.Sprintf("%+.1f", ms)
}
