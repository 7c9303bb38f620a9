package noise

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestQuantilesOfCountsAreThoseOfEachValue compares with the plain way: every value counts as
// often as its block was drawn.
func TestQuantilesOfCountsAreThoseOfEachValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := rapid.IntRange(1, 5).Draw(t, "blocks")
		values := make([]taken, rapid.IntRange(0, 5*step).Draw(t, "values"))
		for i := range values {
			values[i] = taken{rapid.IntRange(0, blocks-1).Draw(t, "block"), float64(rapid.IntRange(0, 40).Draw(t, "ms"))}
		}
		w := make(weights, blocks)
		for i := range w {
			w[i] = float64(rapid.IntRange(0, 20).Draw(t, "weight"))
		}
		q := rapid.SampledFrom([]float64{0, 0.5, 0.99}).Draw(t, "q")

		plain := slices.SortedFunc(slices.Values(values), func(a, b taken) int { return cmp.Compare(b.ms, a.ms) })
		total, above, want := 0.0, 0.0, math.NaN()
		for _, v := range plain {
			total += w[v.block]
		}
		for _, v := range plain {
			if above += w[v.block]; above > (1-q)*total {
				want = v.ms
				break
			}
		}
		if have := rank(values, blocks).quantile(w, q); have != want && !(math.IsNaN(have) && math.IsNaN(want)) {
			t.Fatalf("quantile %v is %v, of each value %v", q, have, want)
		}
	})
}
