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
		{"at: 99%, for: 1%", 1900 * time.Millisecond, "f.yaml:4: for: fault kill-1 is on for 19ms of a run of 1.9s, which is too short to be proven: want at least 100ms of it, or runs of at least 10s"},
		{"at: 99%, for: 1%", 10 * time.Second, ""},
		{"at: 1990ms", 2 * time.Second, "f.yaml:4: at: fault kill-1 is on for 10ms of a run of 2s, which is too short to be proven: want at least 100ms of it, or runs of at least 2.1s"},
		{"at: 99%", 2 * time.Second, "want at least 100ms of it, or runs of at least 10s"},
	} {
		s, err := scenario.Parse("f.yaml", []byte(step(c.times+", fault: kill, target: holder")), "")
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
