package sentence_test

import (
	"testing"
	"time"

	"locklab/internal/sentence"
)

// TestSaidInAnyLanguage: values keep their places, whatever the order in which a language
// has them; names are said as they are.
func TestSaidInAnyLanguage(t *testing.T) {
	other := func(form string) string {
		return map[string]string{
			"%d of %s after %v, %.0f %%": "%[3]v: %[2]s/%[1]d, %[4].0f%%",
			"the worker %s":              "W(%s)",
			"%s s":                       "%ssec",
			"idle":                       "faul",
		}[form]
	}
	for _, c := range []struct {
		text                sentence.Text
		english, translated string
	}{
		{sentence.Of("%d of %s after %v, %.0f %%", 3, sentence.Of("the worker %s", "idle"), sentence.Of("%s s", "1"), 49.6), "3 of the worker idle after 1 s, 50 %", "1sec: W(idle)/3, 50%"},
		{sentence.Name("a.b: no answer."), "a.b: no answer.", "a.b: no answer."},
	} {
		if c.text.String() != c.english || c.text.In(other) != c.translated {
			t.Errorf("%q, %q; want %q, %q", c.text, c.text.In(other), c.english, c.translated)
		}
	}
}

// TestWhatDoesNotFitIsSaidAsItIs: a translation may be wrong.
func TestWhatDoesNotFitIsSaidAsItIs(t *testing.T) {
	for form, want := range map[string]string{"%s of %s": "1 of %s", "%[9]s and %[0]d": "%[9]s and %[0]d", "none": "none"} {
		if told := (sentence.Text{Form: form, Args: []sentence.Text{sentence.Name("1")}}).String(); told != want {
			t.Errorf("%s: %q", form, told)
		}
	}
}

func TestLengthsOfTimeHaveThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		4123: "4.12µs", 12_414 * time.Microsecond: "12.4ms", 2714 * time.Millisecond: "2.71s",
		80_320 * time.Millisecond: "1m20.3s", 260_500 * time.Millisecond: "4m21s",
	} {
		if have := sentence.Lasting(d).String(); have != want {
			t.Errorf("%d ns: %q, want %q", int64(d), have, want)
		}
	}
}
