package scenario_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/chaos/scenario"
)

func TestFaultsMustFitIntoTheRun(t *testing.T) {
	for _, c := range []struct {
		times    string
		measured time.Duration
		want     string // of the error; "" if it fits
	}{
		{"at: 30%, for: 35%", time.Second, ""},
		{"at: 65%, for: 35%", time.Second, ""},
		{"at: 1s, for: 1s", 2 * time.Second, ""},
		{"at: 1s", 2 * time.Second, ""},
		{"at: 0s", time.Second, ""},
		{"at: 5s", 2 * time.Second, "f.yaml:4: fault kill-1 begins at 5s and lasts to the end, past the end of a run of 2s: want at least 5.1s"},
		{"at: 2s", 2 * time.Second, "want at least 2.1s"},
		{"at: 60s, for: 1s", 8 * time.Second, "want at least 1m1s"},
		{"at: 1s, for: 1500ms", 2 * time.Second, "f.yaml:4: fault kill-1 begins at 1s and lasts for 1.5s, past the end of a run of 2s: want at least 2.5s"},
		{"at: 30%, for: 2s", 2 * time.Second, "want at least 2.9s"},
		{"at: 30%, for: 2s", 2900 * time.Millisecond, ""},
	} {
		s, err := scenario.Parse("f.yaml", []byte(step(c.times+", fault: kill, target: holder")))
		if err != nil {
			t.Fatal(err)
		}
		err = s.CheckTimes(c.measured)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s in %v: %v", c.times, c.measured, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, scenario.ErrInvalid)):
			t.Errorf("%s in %v: got %v, want %q", c.times, c.measured, err, c.want)
		}
	}
}
