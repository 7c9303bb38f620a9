package series_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/reports/series"
)

func TestBins(t *testing.T) {
	nan := math.NaN()
	s := series.Of([]series.History{{DurationMS: 400, Ops: []series.Op{
		{DueMS: -50, EndMS: 20, OK: true}, // due in the warm-up, answered in the first bin
		{DueMS: 10, EndMS: 15, OK: true},
		{DueMS: 20, EndMS: 40, OK: true},
		{DueMS: 30, EndMS: 250, OK: true},
		{DueMS: 110, EndMS: 130, OK: false},
		{DueMS: 120, EndMS: 180, OK: false},
	}}}, []float64{-5, 110, 115, 399, 400})
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
	if last := s.Quantiles[len(s.Quantiles)-1]; last.MS != 220 {
		t.Errorf("the largest latency is %v, want 220", last.MS)
	}
}

func TestRepeatsAreLaidOverEachOther(t *testing.T) {
	one := series.History{DurationMS: 200, Ops: []series.Op{{DueMS: 10, EndMS: 20, OK: true}, {DueMS: 12, EndMS: 20, OK: true}}}
	s := series.Of([]series.History{one, {DurationMS: 200}}, nil)
	if s.Repeats != 2 || s.Bins[0].OKPerS != 10 {
		t.Errorf("%d repeats with %v per second, want 2 with a mean of 10", s.Repeats, s.Bins[0].OKPerS)
	}
	if none := series.Of(nil, nil); len(none.Bins) != 0 || none.Repeats != 0 {
		t.Errorf("no histories: %+v", none)
	}
}

func TestLongRunsHaveWiderBins(t *testing.T) {
	s := series.Of([]series.History{{DurationMS: 3_600_000}}, nil)
	if len(s.Bins) > 300 || math.Mod(s.BinMS, 100) != 0 {
		t.Errorf("%d bins of %v ms", len(s.Bins), s.BinMS)
	}
}
