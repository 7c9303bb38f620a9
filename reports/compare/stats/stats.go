// Package stats tells differences between repeated runs from chance.
//
//	repeats ──▶ Median, Interval            (order statistics, no distribution assumed)
//	two samples ──▶ MannWhitney ──▶ Holm    (exact, with ties; all tests of a page together)
package stats

import (
	"math"
	"slices"
)

// Level is the chance, over all tests together, of claiming a difference although nothing changed.
const Level = 0.05

// Interval is where the median lies with 95 % confidence, by order statistics: between the k-th lowest and the
// k-th highest value. Either misses it with the chance of fewer than k heads in as many tosses (H. A. David,
// "Order Statistics", 7.1). Fewer than six values all count, at a lower confidence.
func Interval(values []float64) (low, high, confidence float64) {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	if n == 0 {
		return math.NaN(), math.NaN(), 0
	}
	k, tail, term := 1, math.Pow(0.5, float64(n)), math.Pow(0.5, float64(n))
	for {
		term *= float64(n-k+1) / float64(k) // of k heads
		if tail+term > Level/2 || k+1 > n/2 {
			break
		}
		k, tail = k+1, tail+term
	}
	return v[k-1], v[n-k], 1 - 2*tail
}

// MannWhitney is the two-sided chance of rank sums as far apart as those of a and b, if both came from the same
// runs (H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is stochastically larger
// than the other", 1947). It counts all choices of len(a) ranks, so it is exact with ties too. It is 1 if a or b
// is empty.
func MannWhitney(a, b []float64) float64 {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return 1
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	// Ranks are doubled, so that those of ties are whole numbers.
	rank := func(v float64) int {
		first, _ := slices.BinarySearch(all, v)
		last := first
		for last < len(all) && all[last] == v {
			last++
		}
		return first + 1 + last
	}
	seen := 0
	for _, v := range a {
		seen += rank(v)
	}
	most := n * 2 * len(all)
	// chance[k][s] is the chance that k of the ranks so far have the sum s.
	chance := make([][]float64, n+1)
	for k := range chance {
		chance[k] = make([]float64, most+1)
	}
	chance[0][0] = 1
	for i, v := range all {
		r := rank(v)
		for k := min(i+1, n); k >= 0; k-- {
			// Of all choices of k among i+1 ranks, the share k/(i+1) has this one.
			with := float64(k) / float64(i+1)
			for s := most; s >= 0; s-- {
				p := (1 - with) * chance[k][s]
				if k > 0 && s >= r {
					p += with * chance[k-1][s-r]
				}
				chance[k][s] = p
			}
		}
	}
	less, more := 0.0, 0.0
	for s, p := range chance[n] {
		if s <= seen {
			less += p
		}
		if s >= seen {
			more += p
		}
	}
	return min(1, 2*min(less, more))
}

// Holm corrects chances for their number, so that one below [Level] is claimed wrongly in at most
// one page of twenty (S. Holm, "A simple sequentially rejective multiple test procedure", 1979).
func Holm(chances []float64) []float64 {
	order := make([]int, len(chances))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case chances[a] < chances[b]:
			return -1
		case chances[a] > chances[b]:
			return 1
		}
		return 0
	})
	corrected, highest := make([]float64, len(chances)), 0.0
	for i, at := range order {
		highest = max(highest, min(1, chances[at]*float64(len(chances)-i)))
		corrected[at] = highest
	}
	return corrected
}

// Fewest is how many repeats each of two samples needs to show anything among so many tests: that all of one are
// above all of the other has a chance of 2/C(2n,n).
func Fewest(tests int) int {
	choose := 2.0 // C(2n,n)
	n := 1
	for ; 2/choose > Level/float64(max(tests, 1)); n++ {
		choose *= float64(2*n+1) * 2 / float64(n+1)
	}
	return n
}
