package noise

import (
	"cmp"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// Level is the chance, over all comparisons together, that a difference is marked although
// nothing changed.
const Level = 0.05

// Quiet is the share of all CPUs that others may use during a repeat that is compared.
const Quiet = 0.2

// Drift is how far runs of one program, one after the other on a machine that has nothing
// else to do, differ by what stays the same within each: in measurements with this lab up to
// a fifth of a latency, and by less than one request in a thousand.
const (
	Drift      = 0.25  // of a time, a rate or a ratio: of the smaller value
	DriftShare = 0.001 // of a share
)

// Sample is one figure of one row.
type Sample struct {
	Values []float64 // of each repeat
	Error  float64   // of a single run: the standard error within it; NaN if it is not known
	// Range is of a single run where its draws lie; nil if that is not known.
	Range *[2]float64
}

// Interval is where a figure lies with some confidence, 0 to 1; with 0 nothing is known
// but the Center.
type Interval struct{ Center, Low, High, Confidence float64 }

// Interval is that of the median of the repeats, or of the figure of a single run. Fewer
// than six repeats are all within their own interval, the confidence of which is lower
// then.
func (s Sample) Interval() Interval {
	n := len(s.Values)
	switch {
	case n == 0:
		return Interval{Center: math.NaN()}
	case n == 1 && math.IsNaN(s.Error):
		return Interval{Center: s.Values[0], Low: s.Values[0], High: s.Values[0]}
	case n == 1 && s.Range != nil:
		return Interval{s.Values[0], min(s.Range[0], s.Values[0]), max(s.Range[1], s.Values[0]), 1 - Level}
	case n == 1:
		half := wide(freedom) * s.Error
		return Interval{s.Values[0], s.Values[0] - half, s.Values[0] + half, 1 - Level}
	}
	sum := benchmath.AssumeNothing.Summary(s.sample(), 1-Level)
	if math.IsInf(sum.Lo, 0) || math.IsInf(sum.Hi, 0) { // the median is outside of all with a chance of 2/2^n
		return Interval{sum.Center, slices.Min(s.Values), slices.Max(s.Values), 1 - math.Pow(2, 1-float64(n))}
	}
	return Interval{sum.Center, sum.Lo, sum.Hi, sum.Confidence}
}

func (s Sample) sample() *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(s.Values), &benchmath.DefaultThresholds)
}

// freedom is that of Student's t, by which a figure of a single run lies around the true one,
// as its error comes from few blocks: of twenty in up to five strata. Errors that are less sure
// come larger from [Within].
const freedom = 15

// Outcome is what is known of a difference.
type Outcome int

// The outcomes.
const (
	Open  Outcome = iota // not shown, and not excluded
	Noise                // as large as chance makes it, or the drift
	Shown                // larger than that
)

// Kind is what a figure is.
type Kind int

// The kinds.
const (
	Measure Kind = iota
	Share
	Count
)

// Comparison is of one figure in two runs.
type Comparison struct {
	Before, After Interval
	// Chance is that of a difference as large as this one although nothing changed; [Holm]
	// takes all comparisons into account. 1 where nothing could be tested.
	Chance float64
	// Repeated says that both have repeats: without, nothing can be [Shown].
	Repeated bool
	// Same says that the values are, in all repeats; Small that they differ by no more than the
	// [Drift]; Wide that repeats of a share may, though their medians do not.
	Same, Small, Wide bool
	// Fewest is how many repeats each run needs for anything to be shown, Needed for a
	// difference as large as this one, four times out of five; 0 if no number would do.
	Fewest, Needed int
	Outcome        Outcome

	n         int     // the repeats of the one with fewer
	deviation float64 // of a repeat, as far as it is known
}

// Compare tests one figure of two rows; [Holm] decides. A share is from 0 to 1, a count what
// happened so often: it does not drift.
func Compare(before, after Sample, is Kind) Comparison {
	c := Comparison{
		Before: before.Interval(), After: after.Interval(), Chance: 1,
		n: min(len(before.Values), len(after.Values)),
	}
	a, b := c.Before.Center, c.After.Center
	c.Same = a == b
	switch d := math.Abs(a - b); is {
	case Share:
		c.Small = d <= DriftShare
	case Count:
	default:
		c.Small = d <= Drift*min(a, b)
	}
	switch {
	case c.n == 0:
	case c.n > 1:
		c.Repeated = true
		c.Same = c.Same && slices.Min(before.Values) == slices.Max(before.Values) && slices.Min(after.Values) == slices.Max(after.Values)
		c.Wide = is == Share && max(c.Before.High-c.After.Low, c.After.High-c.Before.Low) > DriftShare
		c.Chance = differ(before.Values, after.Values)
		c.deviation = math.Sqrt((square(deviation(before.Values)) + square(deviation(after.Values))) / 2)
	case len(before.Values) == 1 && len(after.Values) == 1 && !math.IsNaN(before.Error) && !math.IsNaN(after.Error):
		both := math.Hypot(before.Error, after.Error)
		switch {
		case both > 0:
			c.Chance = 2 * (1 - stats.TDist{V: freedom}.CDF(math.Abs(c.After.Center-c.Before.Center)/both))
		case !c.Same: // neither run scatters at all, so chance does not explain it
			c.Chance = 0
		}
		c.deviation = both / math.Sqrt2
	default:
		c.deviation = math.NaN()
	}
	return c
}

// differ is the two-sided U test: twice the smaller of both tails. With ties the tails are of unequal
// shape unless both have as many repeats, and the library's own two-sided test takes one for the other.
func differ(a, b []float64) float64 {
	less, err := stats.MannWhitneyUTest(a, b, stats.LocationLess)
	more, other := stats.MannWhitneyUTest(b, a, stats.LocationLess)
	if err != nil || other != nil { // all values are the same
		return 1
	}
	return min(1, 2*min(less.P, more.P))
}

// Tested says that there was something to test with.
func (c *Comparison) Tested() bool { return c.n > 0 && !math.IsNaN(c.deviation) }

func square(v float64) float64 { return v * v }

// apart says of single runs that their intervals do not touch. Where many draws lie far out, as
// of a long tail, the test does not see what the intervals show; nobody would call it noise.
func (c *Comparison) apart() bool {
	a, b := c.Before, c.After
	return !c.Repeated && a.Confidence > 0 && b.Confidence > 0 && (a.High < b.Low || b.High < a.Low)
}

// Holm decides all comparisons of a page together.
func Holm(all []*Comparison) {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *Comparison) int { return cmp.Compare(a.Chance, b.Chance) })
	m, highest := len(sorted), 0.0
	strict := Level / float64(max(m, 1))
	fewest := Fewest(strict)
	for i, c := range sorted {
		highest = max(highest, min(1, c.Chance*float64(m-i)))
		c.Chance, c.Fewest = highest, fewest
		c.Needed = c.needed(strict, fewest)
		switch {
		case !c.Tested():
			c.Outcome = Open
		case (c.Same || c.Small) && (!c.Wide || c.n >= fewest):
			c.Outcome = Noise
		case c.Chance <= Level && c.Repeated && c.n >= fewest:
			c.Outcome = Shown
		case c.Chance <= Level || c.Repeated && c.n < fewest || c.apart():
			c.Outcome = Open
		default:
			c.Outcome = Noise
		}
	}
}

// most repeats that anybody would make.
const most = 1000

// Fewest is how many repeats two runs need each for the U test to be able to show
// anything at a level.
func Fewest(level float64) int {
	for n := 2; n <= most; n++ {
		if math.Log(2)-logChoose(2*n, n) <= math.Log(level) {
			return n
		}
	}
	return most
}

func logChoose(n, k int) float64 {
	gamma := func(v int) float64 { l, _ := math.Lgamma(float64(v + 1)); return l }
	return gamma(n) - gamma(k) - gamma(n-k)
}

// needed is the size of a sample with which the test finds a difference like this one four
// times out of five, where repeats scatter like a normal distribution. The U test then
// needs π/3 times as many as the t test (E. L. Lehmann, "Nonparametrics", 1975).
func (c *Comparison) needed(level float64, fewest int) int {
	const power = 0.8
	d := math.Abs(c.After.Center - c.Before.Center)
	if d == 0 || c.n == 0 || math.IsNaN(c.deviation) {
		return 0
	}
	z := stats.InvCDF(stats.StdNormal)
	n := 2 * math.Pi / 3 * square((z(1-level/2)+z(power))*c.deviation/d)
	if n > most {
		return 0
	}
	return max(int(math.Ceil(n)), fewest)
}
