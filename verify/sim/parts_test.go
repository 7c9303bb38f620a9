package sim

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"locklab/internal/seed"
)

func TestQueueOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		type pushed struct {
			at   int64
			slot int32
		}
		var want []pushed
		next := func() {
			first := 0
			for i := range want {
				if want[i].at < want[first].at {
					first = i
				}
			}
			if it := q.pop(); it.at != want[first].at || it.slot != want[first].slot {
				t.Fatalf("got %+v, want %+v", it, want[first])
			}
			want = slices.Delete(want, first, first+1)
		}
		for i := range rapid.IntRange(0, 200).Draw(t, "n") {
			if len(want) > 0 && rapid.Bool().Draw(t, "pop") {
				next()
				continue
			}
			at := rapid.Int64Range(0, 20).Draw(t, "at")
			q.push(at, int32(i))
			want = append(want, pushed{at, int32(i)})
		}
		for len(want) > 0 {
			next()
		}
	})
}

func TestHist(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 1<<46), 1, 100).Draw(t, "values")
		var h, other Hist
		sum := time.Duration(0)
		for i, v := range values {
			sum += time.Duration(v)
			if i%3 == 0 {
				other.Add(time.Duration(v))
			} else {
				h.Add(time.Duration(v))
			}
		}
		h.Merge(&other)
		slices.SortFunc(values, cmp.Compare)
		if h.N != uint64(len(values)) || h.Sum != sum || int64(h.Max) != values[len(values)-1] {
			t.Fatalf("%d values, sum %v, max %v", h.N, h.Sum, h.Max)
		}
		for _, q := range []float64{0, 0.5, 0.99} {
			want := values[max(int(math.Ceil(q*float64(len(values)))), 1)-1]
			if got := int64(h.Quantile(q)); got < want || float64(got) > float64(want)*257/256+1 {
				t.Fatalf("quantile %v of %v: %d, want %d", q, values, got, want)
			}
		}
	})
}

// TestDriftingClock: a timer on a clock that runs at another speed for a while.
func TestDriftingClock(t *testing.T) {
	const s = int64(time.Second)
	fast := Fault{Kind: Drift, From: 10 * time.Second, Until: 20 * time.Second, A: []int{0}, Rate: 2}
	slow := Fault{Kind: Drift, From: 5 * time.Second, Until: 6 * time.Second, A: []int{0}, Rate: 0.5}
	for _, c := range []struct {
		faults     []Fault
		from, want int64
		d          time.Duration
	}{
		{nil, s, 3 * s, 2 * time.Second},
		{[]Fault{fast}, 0, 2 * s, 2 * time.Second},
		{[]Fault{fast}, 11 * s, 13 * s, 4 * time.Second},
		{[]Fault{fast}, 9 * s, 11 * s, 3 * time.Second},
		{[]Fault{fast}, 19 * s, 22 * s, 4 * time.Second},
		{[]Fault{fast}, 21 * s, 25 * s, 4 * time.Second},
		{[]Fault{slow, fast}, 4 * s, 16 * s, 17*time.Second + 500*time.Millisecond},
	} {
		w := world[int]{cfg: Config{Duration: time.Minute, Faults: c.faults}, procs: []process{{drifts: len(c.faults) > 0}}}
		if got := w.due(0, c.from, c.d); got != c.want {
			t.Errorf("%v from %v with %v: %v, want %v", c.d, time.Duration(c.from), c.faults, time.Duration(got), time.Duration(c.want))
		}
	}
}

// TestDrawIsValid draws many and lets the config check them.
func TestDrawIsValid(t *testing.T) {
	kinds := map[Kind]int{}
	for n := range 2000 {
		cfg := Config{Peers: 1 + n%7, Seed: seed.Seed(n + 1), Duration: time.Duration(1+n%20) * 500 * time.Millisecond}.withDefaults()
		cfg.Faults = Draw(cfg, Kinds())
		if err := cfg.validate(); err != nil {
			t.Fatal(err)
		}
		for _, f := range cfg.Faults {
			kinds[f.Kind]++
			if f.Until > cfg.Duration*4/5 {
				t.Fatalf("%v ends after four fifths of %v", f, cfg.Duration)
			}
		}
	}
	if len(kinds) != len(Kinds()) {
		t.Errorf("drawn: %v", kinds)
	}
}
