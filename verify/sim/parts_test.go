package sim

import (
	"slices"
	"testing"
	"time"

	"locklab/internal/seed"
)

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
		cfg := Config{Duration: time.Minute, Faults: c.faults}
		if got := cfg.due(0, c.from, c.d); got != c.want {
			t.Errorf("%v from %v with %v: %v, want %v", c.d, time.Duration(c.from), c.faults, time.Duration(got), time.Duration(c.want))
		}
	}
}

// TestDrawIsValid draws many, of all kinds.
func TestDrawIsValid(t *testing.T) {
	kinds := map[Kind]int{}
	for n := range 2000 {
		cfg := Config{Peers: 1 + n%7, Seed: seed.Seed(n + 1), Duration: time.Duration(1+n%20) * 500 * time.Millisecond}
		for _, f := range Draw(cfg, Kinds()) {
			kinds[f.Kind]++
			ranks := slices.Concat(f.A, f.B)
			two := f.Kind == Partition || f.Kind == Slow
			slices.Sort(ranks)
			if f.From < 0 || f.Until <= f.From || f.Until > cfg.Duration*4/5 || len(f.A) == 0 || two != (len(f.B) > 0) ||
				ranks[0] < 0 || ranks[len(ranks)-1] >= cfg.Peers || len(slices.Compact(ranks)) != len(f.A)+len(f.B) {
				t.Fatalf("%v of %d peers in %v", f, cfg.Peers, cfg.Duration)
			}
		}
	}
	if len(kinds) != len(Kinds()) {
		t.Errorf("drawn: %v", kinds)
	}
}
