package sentence_test

import (
	"testing"
	"time"

	"locklab/internal/sentence"
)

// TestLengthsOfTimeAreToldAlike, to about three digits, and what is whole without any after
// the point; in a clause, too.
func TestLengthsOfTimeAreToldAlike(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                        "0 s",
		345 * time.Nanosecond:    "0.34 µs",
		4123 * time.Nanosecond:   "4.12 µs",
		99_400:                   "99.4 µs",
		99_600:                   "0.0996 ms",
		345_678:                  "0.35 ms",
		45 * time.Millisecond:    "45 ms",
		12_400 * 1000:            "12.4 ms",
		354_321 * 1000:           "354 ms",
		999_600 * 1000:           "1.0 s",
		time.Second:              "1 s",
		2725 * time.Millisecond:  "2.7 s",
		59_940 * 1000 * 1000:     "59.9 s",
		59_960 * 1000 * 1000:     "1 min",
		80_300 * 1000 * 1000:     "1 min 20 s",
		time.Hour:                "60 min",
		-1500 * time.Millisecond: "-1.5 s",
	} {
		if have := sentence.Of("after %v", d).String(); have != "after "+want {
			t.Errorf("%d ns: %q, want %q", int64(d), have, want)
		}
	}
}
