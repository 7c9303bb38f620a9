package lab

import (
	"slices"
	"testing"

	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
)

// TestHighest: the search doubles until a rate fails, and then bisects to a tenth, from above too.
func TestHighest(t *testing.T) {
	for limit, want := range map[float64][]float64{
		2600: {500, 1000, 2000, 4000, 3000, 2500, 2750},
		120:  {500, 250, 125, 62.5, 93.75, 109.375, 117.1875},
		0:    {500, 250, 125, 62.5, 31.25},
	} {
		var tried []float64
		err := highest(func(perS float64) (bool, error) {
			tried = append(tried, perS)
			return perS <= limit, nil
		})
		if err != nil || !slices.Equal(tried, want) {
			t.Errorf("up to %v: %v, %v, want %v", limit, tried, err, want)
		}
	}
}

// TestStepPasses: a rate passes if all of its requests ended well and fast, and were sent in time.
func TestStepPasses(t *testing.T) {
	const ms = int64(1e6)
	for name, c := range map[string]struct {
		outcome  string
		sent, at int64
		passes   bool
	}{
		"well":   {"ok", ms, 50 * ms, true},
		"failed": {"failed", ms, 50 * ms, false},
		"slow":   {"ok", ms, 150 * ms, false},
		"late":   {"ok", 30 * ms, 50 * ms, false},
	} {
		var out historytest.Recorder
		s := &step{out: &out}
		s.Record(history.Event{Kind: history.KindPhase, State: "measure"})
		s.Record(history.Event{Kind: history.KindMatch, FromNS: 5, AtNS: 900 * ms, Outcome: "failed"}) // in the warm-up
		for range 10 {
			s.Record(history.Event{Kind: history.KindMatch, FromNS: 1000 * ms, SentNS: 1000*ms + c.sent, AtNS: 1000*ms + c.at, Outcome: c.outcome})
		}
		if got, late := s.ended(1000*ms, 2000*ms, 0); got != c.passes || late != (name == "late") {
			t.Errorf("%s: %v, late %v", name, got, late)
		}
		if e := out.Events(history.KindCapacity, history.KindPhase); len(e) != 1 || e[0].State != history.CapacityMatches {
			t.Errorf("%s: recorded %+v", name, e)
		}
	}
}
