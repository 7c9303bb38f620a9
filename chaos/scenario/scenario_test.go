package scenario_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/chaos/scenario"
	"locklab/internal/must"
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
		{"at: 5s", 2 * time.Second, "f.yaml:4: fault kill-1 is on from 5s to 2s of a run of 2s: want at least 100ms of it"},
		{"at: 2s", 2 * time.Second, "from 2s to 2s"},
		{"at: 1s, for: 1500ms", 2 * time.Second, "from 1s to 2.5s of a run of 2s"},
		{"at: 30%, for: 2s", 2 * time.Second, "from 600ms to 2.6s"},
		{"at: 30%, for: 2s", 2900 * time.Millisecond, ""},
		{"at: 99%, for: 1%", 1900 * time.Millisecond, "from 1.881s to 1.9s of a run of 1.9s"},
		{"at: 99%, for: 1%", 10 * time.Second, ""},
		{"at: 1990ms", 2 * time.Second, "from 1.99s to 2s"},
	} {
		s, err := scenario.Parse("f.yaml", []byte(step(c.times+", fault: kill, target: holder")), "")
		must.Do(t, err)
		err = s.CheckTimes(c.measured)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s in %v: %v", c.times, c.measured, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, scenario.ErrInvalid)):
			t.Errorf("%s in %v: got %v, want %q", c.times, c.measured, err, c.want)
		}
	}
}
