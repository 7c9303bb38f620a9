package noise_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"locklab/internal/seed"
	"locklab/reports/noise"
	"locklab/reports/series"
)

// load is a run of ten seconds with a request every 5 ms. Who answers how fast is drawn.
func load(random *rand.Rand, ms func(atMS float64) float64) noise.Run {
	r := noise.Run{DurationMS: 10_000}
	for at := 0.0; at < r.DurationMS; at += 5 {
		took := ms(at) * math.Exp(random.NormFloat64()/2)
		r.Ops = append(r.Ops, series.Op{DueMS: at, EndMS: at + took, OK: random.Float64() < 0.95})
	}
	return r
}

func median(values []float64) float64 {
	return noise.Sample{Values: values}.Interval().Center
}

// TestTheSpreadWithinIsThatOfMoreRuns compares the error that one run claims with how its
// figures really scatter from run to run, where runs differ by chance only.
func TestTheSpreadWithinIsThatOfMoreRuns(t *testing.T) {
	random := seed.Seed(5).Rand()
	claimed, share := []float64{}, []float64{}
	const runs = 60
	for range runs {
		r := load(random, func(float64) float64 { return 10 })
		ok := 0.0
		for _, o := range r.Ops {
			if o.OK {
				ok++
			}
		}
		share = append(share, ok/float64(len(r.Ops)))
		within, _ := noise.Within(r, 1)
		for _, field := range []string{"availability", "achieved_per_s", "latency_ms.p50", "latency_ms.p99"} {
			if within[field] <= 0 {
				t.Fatalf("no error of %s: %v", field, within)
			}
		}
		claimed = append(claimed, within["availability"])
	}
	mean, sum := 0.0, 0.0
	for _, s := range share {
		mean += s / runs
	}
	for _, s := range share {
		sum += (s - mean) * (s - mean) / (runs - 1)
	}
	if have, want := median(claimed), math.Sqrt(sum); have < want*0.7 || have > want*1.4 {
		t.Errorf("one run claims an error of %.5f, and the runs scatter by %.5f", have, want)
	}
}

// TestFaultsAreNoNoise draws blocks anew only in place of those under the same faults: that
// half of the run is slow is no spread.
func TestFaultsAreNoNoise(t *testing.T) {
	slow := func(at float64) float64 {
		if at > 5000 {
			return 200
		}
		return 2
	}
	r := load(seed.Seed(3).Rand(), slow)
	blind, _ := noise.Within(r, 1)
	r.ChangesMS = []float64{5000}
	aware, _ := noise.Within(r, 1)
	if !(aware["latency_ms.p99"] < blind["latency_ms.p99"]) {
		t.Errorf("the error of p99 is %v with the fault's moment known, %v without", aware["latency_ms.p99"], blind["latency_ms.p99"])
	}
	if again, _ := noise.Within(r, 1); again["latency_ms.p99"] != aware["latency_ms.p99"] {
		t.Error("the same seed gives another error")
	}
	r.DurationMS = 700
	if short, _ := noise.Within(r, 1); short != nil {
		t.Errorf("a run of 0.7 s knows its spread: %v", short)
	}
}

// TestAFewSlowRequestsReachUpwardsOnly: a p99 that one slow moment decides may be far higher,
// and is no less than what all other moments have.
func TestAFewSlowRequestsReachUpwardsOnly(t *testing.T) {
	r := load(seed.Seed(3).Rand(), func(at float64) float64 {
		if at > 5000 && at < 5050 {
			return 300
		}
		return 10
	})
	errors, ranges := noise.Within(r, 1)
	p99 := ranges["latency_ms.p99"]
	if !(p99[0] > 5 && p99[1] > 100) {
		t.Errorf("p99 is from %v to %v, with a standard error of %v", p99[0], p99[1], errors["latency_ms.p99"])
	}
	s := noise.Sample{Values: []float64{12}, Error: errors["latency_ms.p99"], Range: &p99}
	if iv := s.Interval(); iv.Low != min(p99[0], 12) || iv.High != p99[1] || iv.Confidence != 1-noise.Level {
		t.Errorf("the interval is %+v", iv)
	}
}

// phased is a run with a fault that begins and ends, and a level of its own in each half
// second: chance is in blocks, and most of it in the fault.
func phased(random *rand.Rand, fault, slower float64) noise.Run {
	r := noise.Run{DurationMS: 10_000, ChangesMS: []float64{5000, 5000 + fault}}
	level, until := 0.0, 0.0
	for at := 0.0; at < r.DurationMS; at += 20 {
		in := at >= 5000 && at < 5000+fault
		if at >= until {
			scatter := 0.1
			if in {
				scatter = 0.6
			}
			level, until = math.Exp(random.NormFloat64()*scatter), at+500
		}
		took, failed := 10*level*slower*math.Exp(random.NormFloat64()/4), 0.01
		if in {
			failed = min(0.3*level, 0.9)
		}
		r.Ops = append(r.Ops, series.Op{DueMS: at, EndMS: at + took, OK: random.Float64() >= failed})
	}
	return r
}

// single is one run's latency, with what it says of its error.
func single(r noise.Run) (p50, share noise.Sample) {
	var took []float64
	for _, o := range r.Ops {
		if o.OK {
			took = append(took, o.EndMS-o.DueMS)
		}
	}
	within, _ := noise.Within(r, 1)
	p50 = noise.Sample{Values: []float64{median(took)}, Error: within["latency_ms.p50"]}
	return p50, noise.Sample{Values: []float64{float64(len(took)) / float64(len(r.Ops))}, Error: within["availability"]}
}

// TestSingleRunsOfTheSameSeldomDiffer: of pairs of runs that differ by chance only, about
// one in twenty may lie beyond what each says of its spread, also where most of that is in a
// fault of few blocks.
func TestSingleRunsOfTheSameSeldomDiffer(t *testing.T) {
	for _, fault := range []float64{400, 1000} { // ms: of one block and two
		random := seed.Seed(uint64(fault)).Rand()
		const pairs = 200
		var latency, share int
		for range pairs {
			a50, a := single(phased(random, fault, 1))
			b50, b := single(phased(random, fault, 1))
			if noise.Compare(a50, b50, noise.Measure).Chance <= noise.Level {
				latency++
			}
			if noise.Compare(a, b, noise.Share).Chance <= noise.Level {
				share++
			}
		}
		t.Logf("fault of %v ms: %d of %d pairs differ by p50, %d by availability", fault, latency, pairs, share)
		if most := pairs * 9 / 100; latency > most || share > most { // 5 % and two and a half standard deviations
			t.Errorf("fault of %v ms: of %d pairs of the same %d differ by p50, %d by availability; want at most %d", fault, pairs, latency, share, most)
		}
	}
}

// TestPowerOfFiveRepeats says what five repeats find of a lock that has become slower, where
// repeats scatter by a tenth. 15 % is less than the drift: it is shown only where chance
// makes it look like a quarter.
func TestPowerOfFiveRepeats(t *testing.T) {
	random := seed.Seed(11).Rand()
	const tries = 200
	power := func(slower float64, figures int) (seen, shown int) {
		for range tries {
			c := noise.Compare(repeats(random, 5, 10), repeats(random, 5, 10*slower), noise.Measure)
			all := []*noise.Comparison{&c}
			for range figures - 1 {
				other := noise.Compare(repeats(random, 5, 10), repeats(random, 5, 10), noise.Measure)
				all = append(all, &other)
			}
			if c.Chance <= noise.Level {
				seen++
			}
			if noise.Holm(all); c.Outcome == noise.Shown {
				shown++
			}
		}
		return seen, shown
	}
	for _, c := range []struct {
		slower                 float64
		figures                int
		fewest, most           int // that the test sees before Holm and the drift, of tries
		shownFewest, shownMost int
	}{
		{1.15, 1, 40, 100, 4, 40},
		{1.5, 1, 190, 200, 170, 200},
		{1.5, 20, 190, 200, 0, 0}, // of twenty figures five repeats can show nothing
	} {
		seen, shown := power(c.slower, c.figures)
		t.Logf("%v times as slow, one of %d figures: %d of %d seen by the test alone, %d shown", c.slower, c.figures, seen, tries, shown)
		if seen < c.fewest || seen > c.most || shown < c.shownFewest || shown > c.shownMost {
			t.Errorf("%v times as slow, one of %d figures: %d seen (want %d to %d), %d shown (want %d to %d)",
				c.slower, c.figures, seen, c.fewest, c.most, shown, c.shownFewest, c.shownMost)
		}
	}
}

// TestCountsComeInClusters: 40 events at once are less sure than 40 apart, and none at all
// is not surely none.
func TestCountsComeInClusters(t *testing.T) {
	r := load(seed.Seed(9).Rand(), func(float64) float64 { return 10 })
	error := func(events []float64) float64 {
		r.EventsMS, r.Counts = events, map[string]float64{"overlaps": float64(len(events))}
		found, _ := noise.Within(r, 1)
		return found["overlaps"]
	}
	var apart, together []float64
	for i := range 40 {
		apart, together = append(apart, float64(i)*250), append(together, 1234+float64(i))
	}
	none, a, b := error(nil), error(apart), error(together)
	if none != 1 || a < math.Sqrt(40) || a > 2*math.Sqrt(40) || b < 2*a {
		t.Errorf("errors of no event, 40 apart, 40 together: %v, %v, %v", none, a, b)
	}
}

func repeats(random *rand.Rand, n int, center float64) noise.Sample {
	s := noise.Sample{}
	for range n {
		s.Values = append(s.Values, center*math.Exp(random.NormFloat64()/10))
	}
	return s
}

// TestWhatIsTheSameIsSeldomMarked: of pages with 20 comparisons each of runs that differ by
// chance only, one in twenty may mark any. They are of counts, of which no difference is too
// small to be shown; without [noise.Holm] more pages would mark one than not.
func TestWhatIsTheSameIsSeldomMarked(t *testing.T) {
	random := seed.Seed(7).Rand()
	const pages, figures = 400, 20
	marked, raw := 0, 0
	for range pages {
		var all []*noise.Comparison
		for range figures {
			c := noise.Compare(repeats(random, 8, 10), repeats(random, 8, 10), noise.Count)
			all = append(all, &c)
		}
		if slices.ContainsFunc(all, func(c *noise.Comparison) bool { return c.Chance <= noise.Level }) {
			raw++
		}
		noise.Holm(all)
		for _, c := range all {
			if c.Outcome == noise.Shown {
				marked++
				break
			}
		}
	}
	if raw < pages/2 {
		t.Errorf("%d of %d pages have a difference below the level before the correction: the test tests nothing", raw, pages)
	}
	if marked > pages*8/100 { // 5 % and three standard deviations
		t.Errorf("%d of %d pages mark a difference where there is none", marked, pages)
	}
}

func TestWhatDiffersIsShownOrOpen(t *testing.T) {
	random := seed.Seed(8).Rand()
	single := func(v, e float64) noise.Sample { return noise.Sample{Values: []float64{v}, Error: e} }
	unknown := math.NaN()
	for name, tt := range map[string]struct {
		a, b noise.Sample
		want noise.Outcome
	}{
		"twice as slow, 8 repeats":           {repeats(random, 8, 10), repeats(random, 8, 20), noise.Shown},
		"surely more, by less than a drift":  {repeats(random, 200, 10), repeats(random, 200, 11.5), noise.Noise},
		"the same, 8 repeats":                {repeats(random, 8, 10), repeats(random, 8, 10.1), noise.Noise},
		"twice as slow, 3 repeats":           {repeats(random, 3, 10), repeats(random, 3, 20), noise.Open},
		"twice as slow, 8 repeats against 1": {repeats(random, 8, 10), single(20, 0.1), noise.Open},
		"one run each, within its spread":    {single(10, 1), single(11, 1), noise.Noise},
		"one run each, beyond its spread":    {single(10, 1), single(20, 1), noise.Open},
		"one run each, of unknown spread":    {single(10, unknown), single(20, unknown), noise.Open},
		"one run each, without a spread":     {single(10, 0), single(20, 0), noise.Open},
		"one run each, nothing in either":    {single(0, 0), single(0, 0), noise.Noise},
		"missing":                            {noise.Sample{}, single(1, 1), noise.Open},
		"never anything in any repeat":       {noise.Sample{Values: []float64{0, 0, 0, 0, 0}}, noise.Sample{Values: []float64{0, 0, 0, 0, 0}}, noise.Noise},
	} {
		c := noise.Compare(tt.a, tt.b, noise.Measure)
		noise.Holm([]*noise.Comparison{&c})
		if c.Outcome != tt.want {
			t.Errorf("%s: outcome %d, want %d (%+v)", name, c.Outcome, tt.want, c)
		}
	}
}

func TestNeededRepeats(t *testing.T) {
	for level, want := range map[float64]int{0.05: 4, 0.05 / 20: 6, 0.05 / 200: 8} {
		if have := noise.Fewest(level); have != want {
			t.Errorf("at %v: %d repeats, want %d", level, have, want)
		}
	}
	random := seed.Seed(2).Rand()
	needed := func(by float64) int {
		c := noise.Compare(repeats(random, 30, 10), repeats(random, 30, 10*by), noise.Measure)
		noise.Holm([]*noise.Comparison{&c})
		return c.Needed
	}
	large, small := needed(2), needed(1.08)
	if large != 4 || small < 10 {
		t.Errorf("for twice as much: %d repeats, for 8 %% more: %d", large, small)
	}
}

func TestIntervals(t *testing.T) {
	six := noise.Sample{Values: []float64{6, 1, 3, 2, 5, 4}}.Interval()
	if six.Low != 1 || six.High != 6 || six.Center != 3.5 || six.Confidence < 0.95 {
		t.Errorf("of six: %+v", six)
	}
	if three := (noise.Sample{Values: []float64{2, 9, 4}}).Interval(); three.Low != 2 || three.High != 9 || three.Confidence != 0.75 {
		t.Errorf("of three: %+v", three)
	}
	one := noise.Sample{Values: []float64{10}, Error: 1}.Interval()
	if one.Low > 8 || one.Low < 7.5 || one.High < 12 || one.Confidence != 0.95 {
		t.Errorf("of one: %+v", one)
	}
}

// TestIntervalsApartAreNoNoise: draws far out make the error large and leave the interval alone.
func TestIntervalsApartAreNoNoise(t *testing.T) {
	of := func(v, low, high float64) noise.Sample {
		return noise.Sample{Values: []float64{v}, Error: 0.0018, Range: &[2]float64{low, high}}
	}
	apart := noise.Compare(of(0.0057, 0.0051, 0.0072), of(0.0094, 0.0083, 0.0108), noise.Measure)
	near := noise.Compare(of(0.0057, 0.0051, 0.0090), of(0.0094, 0.0083, 0.0108), noise.Measure)
	noise.Holm([]*noise.Comparison{&apart, &near})
	if apart.Outcome != noise.Open || near.Outcome != noise.Noise {
		t.Errorf("apart: %v, near: %v; want %v, %v", apart.Outcome, near.Outcome, noise.Open, noise.Noise)
	}
}

// TestEqualMediansAreNotTheSame: of few repeats, one of which lost a share of its requests, the medians
// say nothing of it.
func TestEqualMediansAreNotTheSame(t *testing.T) {
	all, once := []float64{1, 1, 1}, []float64{1, 0.949, 1}
	many := make([]float64, 40)
	for i := range many {
		many[i] = []float64{1, 1, 1, 0.949}[i%4]
	}
	for name, c := range map[string]struct {
		before, after []float64
		is            noise.Kind
		want          noise.Outcome
		same          bool
	}{
		"the same":            {all, all, noise.Share, noise.Noise, true},
		"once":                {all, once, noise.Share, noise.Open, false},
		"as often":            {once, once, noise.Share, noise.Open, false},
		"many repeats":        {many, many, noise.Share, noise.Noise, false},
		"times, of which few": {all, once, noise.Measure, noise.Noise, false},
	} {
		got := noise.Compare(noise.Sample{Values: c.before}, noise.Sample{Values: c.after}, c.is)
		noise.Holm([]*noise.Comparison{&got})
		if got.Outcome != c.want || got.Same != c.same {
			t.Errorf("%s: %v, same %t; want %v and %t", name, got.Outcome, got.Same, c.want, c.same)
		}
	}
}
