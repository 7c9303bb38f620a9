package series_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/reports/series"
	"locklab/workloads/check/record"
)

// runOf has requests; their times are milliseconds.
func runOf(ops ...series.Op) *record.Run {
	run := &record.Run{}
	for _, o := range ops {
		q := record.Request{Op: record.Op{From: int64(o.DueMS * 1e6), At: int64(o.EndMS * 1e6), Outcome: record.Failed}}
		if o.OK {
			q.Outcome = record.OK
		}
		run.Requests = append(run.Requests, q)
	}
	return run
}

func TestBins(t *testing.T) {
	nan := math.NaN()
	c := series.NewCollector(400)
	c.AddRun(runOf(
		series.Op{DueMS: -50, EndMS: 20, OK: true}, // due in the warm-up, answered in the first bin
		series.Op{DueMS: 10, EndMS: 15, OK: true},
		series.Op{DueMS: 20, EndMS: 40, OK: true},
		series.Op{DueMS: 30, EndMS: 250, OK: true},
		series.Op{DueMS: 110, EndMS: 130, OK: false},
		series.Op{DueMS: 120, EndMS: 180, OK: false},
	), []float64{-5, 110, 115, 399, 400})
	s := c.Series()
	want := []series.Bin{
		{AtMS: 0, OKPerS: 30, P50MS: 20, P99MS: 220},
		{AtMS: 100, OtherPerS: 20, P50MS: nan, P99MS: nan, Violations: 2},
		{AtMS: 200, OKPerS: 10, P50MS: nan, P99MS: nan},
		{AtMS: 300, P50MS: nan, P99MS: nan, Violations: 1},
	}
	sameNaN := cmp.Comparer(func(a, b float64) bool { return a == b || (math.IsNaN(a) && math.IsNaN(b)) })
	if diff := cmp.Diff(want, s.Bins, sameNaN); diff != "" || s.BinMS != 100 {
		t.Error(s.BinMS, diff)
	}
}

func TestRatesAreMeansOverRuns(t *testing.T) {
	c := series.NewCollector(200)
	c.AddRun(runOf(series.Op{DueMS: 10, EndMS: 20, OK: true}, series.Op{DueMS: 12, EndMS: 20, OK: true}), nil)
	c.AddRun(runOf(), nil)
	if s := c.Series(); s.Repeats != 2 || s.Bins[0].OKPerS != 10 {
		t.Errorf("%d repeats with %v per second, want 2 with a mean of 10", s.Repeats, s.Bins[0].OKPerS)
	}
}

func TestLongRunsHaveWiderBins(t *testing.T) {
	if s := series.NewCollector(3_600_000).Series(); len(s.Bins) > 300 || math.Mod(s.BinMS, 100) != 0 {
		t.Errorf("%d bins of %v ms", len(s.Bins), s.BinMS)
	}
}
