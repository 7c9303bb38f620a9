package check_test

import (
	"strings"
	"testing"

	"locklab/workloads/check"
)

// TestLateGeneratorJudgesNothing: neither if the load was another one, nor if the
// latencies are mostly its own lateness.
func TestLateGeneratorJudgesNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		late  float64 // ms, of all operations, which take 5 ms
		every int     // operation; 1 is all
		want  string
	}{
		"on time":              {0.02, 1, ""},
		"some of them late":    {49, 3, ""},
		"as late as it takes":  {2.6, 1, "p50 2.6ms after the intended time, more than half of the latency"},
		"less late than that":  {2.4, 1, ""},
		"half a slot too late": {51, 3, "p99 51"},
	} {
		players := players(1000, 10_000, 0, 0)
		for i := range players {
			e := &players[i]
			e.SentNS = e.FromNS
			if i%tt.every == 0 {
				late := int64(tt.late * float64(ms))
				e.SentNS += late
				e.AtNS = max(e.AtNS, e.SentNS)
			}
		}
		v, _ := judged(t, check.Expectation{Safety: check.Safe}, phases(1000, 10_000, 10_100), players, locking(1000, 10_000, 0, 0))
		want := check.Expected
		if tt.want != "" {
			want = check.Inconclusive
		}
		if v.Status != want || !strings.Contains(v.Why, tt.want) {
			t.Errorf("%s: %s: %s; want %s: %s", name, v.Status, v.Why, want, tt.want)
		}
	}
}
