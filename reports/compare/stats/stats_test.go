package stats_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"locklab/reports/compare/stats"
	"locklab/workloads/result"
)

// TestMannWhitneyCountedOut: the chance is that counted out over all ways to choose the values of
// the one sample, with ties and with unequal sizes.
func TestMannWhitneyCountedOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		n, m := 1+rng.IntN(5), 1+rng.IntN(5)
		all := make([]float64, n+m)
		for i := range all {
			all[i] = float64(rng.IntN(5))
		}
		have, want := stats.MannWhitney(all[:n], all[n:]), countedOut(all, n)
		if math.Abs(have-want) > 1e-9 {
			t.Fatalf("%v and %v: chance %v, want %v", all[:n], all[n:], have, want)
		}
	}
}

func countedOut(all []float64, n int) float64 {
	u := func(chosen int) (u float64) { // pairs in which the chosen one is higher; ties count half
		for i := range all {
			for j := range all {
				switch {
				case chosen>>i&1 == 0 || chosen>>j&1 == 1:
				case all[i] > all[j]:
					u++
				case all[i] == all[j]:
					u += 0.5
				}
			}
		}
		return u
	}
	seen := u(1<<n - 1)
	less, more, ways := 0.0, 0.0, 0.0
	for chosen := range 1 << len(all) {
		if bits.OnesCount(uint(chosen)) != n {
			continue
		}
		ways++
		if u(chosen) <= seen {
			less++
		}
		if u(chosen) >= seen {
			more++
		}
	}
	return min(1, 2*min(less, more)/ways)
}

func TestHolm(t *testing.T) {
	have := stats.Holm([]float64{0.01, 0.04, 0.03, 0.005})
	want := []float64{0.03, 0.06, 0.06, 0.02} // the example of most textbooks
	for i := range want {
		if math.Abs(have[i]-want[i]) > 1e-12 {
			t.Fatalf("have %v, want %v", have, want)
		}
	}
}

// TestInterval: the intervals of the median of n values, by the ranks that tables give (H. A.
// David, "Order Statistics"): 6 gives 1 to 6 with 96.9 %, 10 gives 2 to 9 with 97.9 %, 20 gives 6 to 15.
func TestInterval(t *testing.T) {
	for n, want := range map[int][3]float64{1: {1, 1, 0}, 3: {1, 3, 0.75}, 5: {1, 5, 0.9375}, 6: {1, 6, 0.96875}, 10: {2, 9, 0.978515625}, 20: {6, 15, 0.95861}} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(n - i)
		}
		low, high, confidence := stats.Interval(values)
		if low != want[0] || high != want[1] || math.Abs(confidence-want[2]) > 1e-5 {
			t.Errorf("%d values: %v to %v with %v, want %v", n, low, high, confidence, want)
		}
	}
	if m := result.Median([]float64{4, 1, 3, 2}); m != 2.5 {
		t.Errorf("the median is %v", m)
	}
}

// TestFewest: with fewer repeats the most extreme samples are not shown, with as many they are.
func TestFewest(t *testing.T) {
	for _, tests := range []int{1, 20, 480} {
		for n := stats.Fewest(tests) - 1; n <= stats.Fewest(tests); n++ {
			low, high := make([]float64, n), make([]float64, n)
			for i := range n {
				low[i], high[i] = float64(i), float64(100+i)
			}
			chances := slices.Concat([]float64{stats.MannWhitney(low, high)}, slices.Repeat([]float64{1}, tests-1))
			if shown := stats.Holm(chances)[0] <= stats.Level; shown != (n == stats.Fewest(tests)) {
				t.Errorf("%d tests with %d repeats: shown is %v", tests, n, shown)
			}
		}
	}
}
