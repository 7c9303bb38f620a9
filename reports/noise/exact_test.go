package noise

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// TestUnequalRepeatsWithTies: the test is exact, also where one run has fewer repeats than the other and
// values are the same in both: it is counted out over all ways to choose the repeats of the one.
func TestUnequalRepeatsWithTies(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		n, m := 2+rng.IntN(4), 2+rng.IntN(4)
		all := make([]float64, n+m)
		for i := range all {
			all[i] = float64(rng.IntN(4))
		}
		got, want := differ(all[:n], all[n:]), countedOut(all, n)
		if math.Abs(got-want) > 1e-9 {
			t.Fatalf("%v and %v: chance %v, want %v", all[:n], all[n:], got, want)
		}
	}
	before, after := Sample{Values: []float64{6, 6, 7}}, Sample{Values: []float64{0, 0}}
	c := Compare(before, after, Count)
	if Holm([]*Comparison{&c}); c.Outcome == Shown || c.Chance < 0.19 {
		t.Errorf("three repeats against two: %v, chance %v", c.Outcome, c.Chance)
	}
}

// countedOut is the two-sided chance of the rank sum of the first n.
func countedOut(all []float64, n int) float64 {
	ranks := func(chosen func(i int) bool) (u float64) { // of the chosen over the others, ties half
		for i := range all {
			for j := range all {
				switch {
				case !chosen(i) || chosen(j):
				case all[i] > all[j]:
					u++
				case all[i] == all[j]:
					u += 0.5
				}
			}
		}
		return u
	}
	seen := ranks(func(i int) bool { return i < n })
	less, more, ways := 0.0, 0.0, 0.0
	for set := range 1 << len(all) {
		if bits.OnesCount(uint(set)) != n {
			continue
		}
		ways++
		u := ranks(func(i int) bool { return set>>i&1 == 1 })
		if u <= seen {
			less++
		}
		if u >= seen {
			more++
		}
	}
	return min(1, 2*min(less, more)/ways)
}
