package noise

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/aclements/go-moremath/stats"

	"locklab/internal/seed"
	"locklab/reports/series"
)

// Run is what happened in the measured part of one run.
type Run struct {
	DurationMS float64
	// ChangesMS are the moments at which a fault began or ended.
	ChangesMS []float64

	Ops      []series.Op // requests
	Acquires []series.Op // of the lock
	// EventsMS is when something happened that Counts are about: these are as clustered as
	// those.
	EventsMS []float64
	Counts   map[string]float64
}

// The figures that [Within] knows of besides Run.Counts, by their fields in result.json.
const (
	availability = "availability"
	achieved     = "achieved_per_s"
)

const (
	blocks = 20  // of a run; fewer if they would be shorter than shortest
	few    = 8   // blocks say nothing of a spread
	draws  = 400 // the standard error of a standard error is then 4 % of it

	// shortest is as long as the lab counts requests apart, in ms.
	shortest = 100
)

// Within is the standard error of figures of a run, by their fields in result.json, and of
// those that are times, where all but [Level] of the draws lie: far less to one side than to
// the other, for those that few slow requests decide. Both are nil where a run is too short to
// tell. The same seed gives the same.
func Within(r Run, from seed.Seed) (found map[string]float64, ranges map[string][2]float64) {
	n := min(blocks, int(r.DurationMS/shortest))
	if n < few {
		return nil, nil
	}
	block := func(at float64) (int, bool) {
		i := int(math.Floor(at / r.DurationMS * float64(n)))
		return i, i >= 0 && i < n
	}
	asked, served, events := make([]float64, n), make([]float64, n), make([]float64, n)
	var latencies, acquires []taken
	for _, o := range r.Ops {
		i, in := block(o.AtMS())
		if !in {
			continue
		}
		if !o.CalledOff {
			asked[i]++
		}
		if o.OK {
			served[i]++
		}
		if o.Timed() {
			latencies = append(latencies, taken{i, o.EndMS - o.DueMS})
		}
	}
	for _, o := range r.Acquires {
		if i, in := block(o.AtMS()); in && o.Timed() {
			acquires = append(acquires, taken{i, o.EndMS - o.DueMS})
		}
	}
	for _, at := range r.EventsMS {
		if i, in := block(at); in {
			events[i]++
		}
	}

	figures := map[string]func(weights) float64{
		availability: func(w weights) float64 { return w.sum(served) / w.sum(asked) },
		achieved:     func(w weights) float64 { return w.total(served) / r.DurationMS * 1000 },
		clustered:    func(w weights) float64 { return w.total(events) },
	}
	times := map[string]func(weights) float64{}
	for name, values := range map[string][]taken{"latency_ms": latencies, "acquire_ms": acquires} {
		if len(values) == 0 {
			continue
		}
		sorted := rank(values, n)
		for at, q := range map[string]float64{".p50": 0.5, ".p99": 0.99} {
			figures[name+at] = func(w weights) float64 { return sorted.quantile(w, q) }
			times[name+at] = figures[name+at]
		}
	}
	phases := strata(n, r)
	found, ranges = bootstrap(figures, phases, from), percentiles(times, phases, from)
	// What happened never, or to everybody, is not known to have no spread.
	all, failed, happened := 0.0, 0.0, 0.0
	for i := range n {
		all, failed, happened = all+asked[i], failed+asked[i]-served[i], happened+events[i]
	}
	if all > 0 {
		found[availability] = max(found[availability], math.Sqrt(failed+1)/all)
	}
	// How many times more a count varies than that of what happens independently.
	clusters := max(1, square(found[clustered])/max(happened, 1))
	delete(found, clustered)
	for name, count := range r.Counts {
		found[name] = math.Sqrt(clusters * (count + 1))
	}
	return found, ranges
}

// clustered is no figure, but the number of the events.
const clustered = "events"

// taken is how long something took, and the block that it was in.
type taken struct {
	block int
	ms    float64
}

// ranked are values, the highest first. Before every step of them stands how many of each
// block there were, and so after the last: no draw has to go through all of them.
type ranked struct {
	values []taken
	before [][]float64
}

const step = 64

func rank(values []taken, blocks int) ranked {
	slices.SortFunc(values, func(a, b taken) int { return cmp.Compare(b.ms, a.ms) })
	r, seen := ranked{values: values}, make([]float64, blocks)
	for i, v := range values {
		if i%step == 0 {
			r.before = append(r.before, slices.Clone(seen))
		}
		seen[v.block]++
	}
	r.before = append(r.before, seen)
	return r
}

func (r ranked) quantile(w weights, q float64) float64 {
	last := len(r.before) - 1
	limit := (1 - q) * w.sum(r.before[last])
	i := sort.Search(last, func(i int) bool { return w.sum(r.before[i+1]) > limit })
	above := w.sum(r.before[i])
	for _, v := range r.values[min(i*step, len(r.values)):] {
		if above += w[v.block]; above > limit {
			return v.ms
		}
	}
	return math.NaN() // nothing was drawn
}

// weights say how often each block was drawn, relative to the others: whole numbers, so that
// sums of them are exact in whatever order.
type weights []float64

// sum is that of a value of each block.
func (w weights) sum(of []float64) float64 {
	sum := 0.0
	for i, v := range of {
		sum += w[i] * v
	}
	return sum
}

// total is the same in the weight of the whole run.
func (w weights) total(of []float64) float64 {
	all := 0.0
	for _, v := range w {
		all += v
	}
	return w.sum(of) / all * float64(len(w))
}

// strata are the blocks between the same changes. One block has no spread: a phase of one
// is joined to the next, or at the end to the one before, whose difference then counts as
// chance (collapsed strata: W. G. Cochran, "Sampling Techniques", 1977, section 5A.12).
func strata(n int, r Run) [][]int {
	byPhase := map[int][]int{}
	for i := range n {
		middle := (float64(i) + 0.5) * r.DurationMS / float64(n)
		phase := 0
		for _, at := range r.ChangesMS {
			if at < middle {
				phase++
			}
		}
		byPhase[phase] = append(byPhase[phase], i)
	}
	var all [][]int
	var alone []int
	for phase := range len(r.ChangesMS) + 1 {
		if alone = append(alone, byPhase[phase]...); len(alone) > 1 {
			all, alone = append(all, alone), nil
		}
	}
	if len(alone) > 0 { // there are others: a run has few blocks or more
		all[len(all)-1] = append(all[len(all)-1], alone...)
	}
	return all
}

// bootstrap is the standard error of each figure: of each stratum of k blocks, k-1 are drawn
// and weigh k/(k-1), which shows the variance of the k without a bias (J. N. K. Rao and
// C. F. J. Wu, "Resampling inference with complex survey data", 1988). What the strata add
// up to is as sure as by so many degrees of freedom (F. E. Satterthwaite, 1946); it is made
// as much larger as t with these is wider than with [freedom], by which it will be judged.
func bootstrap(figures map[string]func(weights) float64, strata [][]int, from seed.Seed) map[string]float64 {
	n := 0
	for _, s := range strata {
		n += len(s)
	}
	random := from.Child("noise").Rand()
	variance, uncertain := map[string]float64{}, map[string]float64{}
	for _, s := range strata {
		values := map[string][]float64{}
		for range draws {
			w := make(weights, n)
			for i := range w {
				w[i] = float64(len(s) - 1)
			}
			for _, i := range s {
				w[i] = 0
			}
			for range len(s) - 1 {
				w[s[random.IntN(len(s))]] += float64(len(s))
			}
			for name, of := range figures {
				if v := of(w); !math.IsNaN(v) && !math.IsInf(v, 0) {
					values[name] = append(values[name], v)
				}
			}
		}
		for name := range figures {
			if len(values[name]) <= draws/2 {
				variance[name] = math.NaN()
				continue
			}
			v := square(deviation(values[name]))
			variance[name] += v
			uncertain[name] += v * v / float64(len(s)-1)
		}
	}
	found := map[string]float64{}
	for name, v := range variance {
		switch {
		case math.IsNaN(v):
		case v == 0:
			found[name] = 0
		default:
			found[name] = math.Sqrt(v) * max(1, wide(v*v/uncertain[name])/wide(freedom))
		}
	}
	return found
}

// percentiles are where all but [Level] of the draws of each figure lie, half of the others on
// each side, when all strata are drawn at once.
func percentiles(figures map[string]func(weights) float64, strata [][]int, from seed.Seed) map[string][2]float64 {
	n, scale := 0, 1 // weights are whole numbers
	for _, s := range strata {
		n, scale = n+len(s), scale*(len(s)-1)
	}
	random := from.Child("range").Rand()
	values := map[string][]float64{}
	for range draws {
		w := make(weights, n)
		for _, s := range strata {
			for range len(s) - 1 {
				w[s[random.IntN(len(s))]] += float64(scale / (len(s) - 1) * len(s))
			}
		}
		for name, of := range figures {
			if v := of(w); !math.IsNaN(v) && !math.IsInf(v, 0) {
				values[name] = append(values[name], v)
			}
		}
	}
	found := map[string][2]float64{}
	for name, all := range values {
		if len(all) <= draws/2 {
			continue
		}
		slices.Sort(all)
		cut := int(float64(len(all)) * Level / 2)
		found[name] = [2]float64{all[cut], all[len(all)-1-cut]}
	}
	return found
}

// wide is how far t with so many degrees of freedom goes at most, but for the Level.
func wide(free float64) float64 { return stats.InvCDF(stats.TDist{V: free})(1 - Level/2) }

// deviation is the standard deviation of a sample.
func deviation(values []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(max(len(values)-1, 1)))
}
