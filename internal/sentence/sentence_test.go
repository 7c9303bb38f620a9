package sentence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/must"
	"locklab/internal/sentence"
)

// TestSaidInAnyLanguage: values keep their places, whatever the order in which a language
// has them, also after a way through JSON; names are said as they are.
func TestSaidInAnyLanguage(t *testing.T) {
	other := func(form string) string {
		return map[string]string{
			"%d of %s after %v, %.0f %%": "%[3]v: %[2]s/%[1]d, %[4].0f%%",
			"the worker %s":              "W(%s)",
			"%s and %s":                  "%s+%s",
			"%s s":                       "%ssec",
			"idle":                       "faul",
			"1 room":                     "ein Raum",
			"%d rooms":                   "%d Raeume",
		}[form]
	}
	for _, c := range []struct {
		text           sentence.Text
		english, whole string
		translated     string
	}{
		{sentence.Of("%d of %s after %v, %.0f %%", 3, sentence.Of("the worker %s", "idle"), time.Second, 49.6), "3 of the worker idle after 1 s, 50 %", "3 of the worker idle after 1 s, 50 %.", "1sec: W(idle)/3, 50%"},
		{sentence.And(sentence.Term("idle"), sentence.Name("%d"), sentence.Count(1, "1 room", "%d rooms")), "idle and %d and 1 room", "Idle and %d and 1 room.", "faul+%d+ein Raum"},
		{sentence.Count(2, "1 room", "%d rooms"), "2 rooms", "2 rooms.", "2 Raeume"},
		{sentence.Name("a.b: no answer."), "a.b: no answer.", "A.b: no answer.", "a.b: no answer."},
		{sentence.First(sentence.Text{}, sentence.And()), "", "", ""},
	} {
		data, err := json.Marshal(c.text)
		must.Do(t, err)
		var read sentence.Text
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		for _, text := range []sentence.Text{c.text, read} {
			if text.String() != c.english || text.Whole() != c.whole || text.In(other) != c.translated {
				t.Errorf("%s: %q, %q, %q; want %q, %q, %q", data, text, text.Whole(), text.In(other), c.english, c.whole, c.translated)
			}
		}
	}
}

// TestWhatGrowsWithoutEndIsCutOff: each clause has the next one in it twice.
func TestWhatGrowsWithoutEndIsCutOff(t *testing.T) {
	text := sentence.Name("x")
	for range 64 {
		text = sentence.Text{Form: "%[1]s%[1]s", Args: []sentence.Text{text}}
	}
	if told := text.String(); len(told) > 2<<20 || !strings.HasPrefix(told, "xx") || !strings.HasSuffix(told, "…") {
		t.Errorf("%d bytes are told", len(told))
	}
}

// TestWhatDoesNotFitIsSaidAsItIs: a file may have been changed by hand.
func TestWhatDoesNotFitIsSaidAsItIs(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{`{"form":"%s of %s","args":["1"]}`, "1 of %s"},
		{`{"form":"%[9]s and %[0]d","args":["1"]}`, "%[9]s and %[0]d"},
		{`{"form":"none","args":["1"]}`, "none"},
	} {
		var read sentence.Text
		if err := json.Unmarshal([]byte(c.data), &read); err != nil || read.String() != c.want {
			t.Errorf("%s: %q, %v", c.data, read, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"form":3}`), new(sentence.Text)); err == nil {
		t.Error("a form that is a number")
	}
}
