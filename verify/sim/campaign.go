package sim

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/internal/seed"
)

// Campaign is many runs that differ in their seeds.
type Campaign struct {
	Config Config // Seed is the first; Faults are added to those that are drawn
	Seeds  int
	Kinds  []Kind          // of the faults that every seed draws; none: no faults
	Holds  []time.Duration // of which every seed draws its Load.Hold, if there are any
}

// Outcome is what a campaign found. Totals.Runs is fewer than planned if its context ended it.
type Outcome struct {
	Totals Totals
	Groups []Group // of findings; violations first, then the most frequent
}

// Bad says that there was a violation.
func (o *Outcome) Bad() bool { return len(o.Groups) > 0 && o.Groups[0].Example.Kind.Bad() }

// Holds are times to hold the lock under faults: shorter than anything else, longer than it takes to
// notice that a peer is gone, and longer than a lease. Faults that hit a holder, or what it relies on,
// show with long ones only.
func Holds() []time.Duration {
	return []time.Duration{5 * time.Millisecond, time.Second, 3 * time.Second}
}

// Group is all findings of a kind under the same kinds of faults.
type Group struct {
	Name    string
	Seeds   int // in how many
	Count   int // how many in all
	First   seed.Seed
	Hold    time.Duration // Load.Hold of the first
	Example Finding
}

// Case is the run of one seed of the campaign.
func (c Campaign) Case(s seed.Seed) Config {
	cfg := c.Config
	cfg.Seed = s
	if n := len(c.Holds); n > 0 {
		cfg.Load.Hold = c.Holds[s.Child("hold").Rand().IntN(n)]
	}
	cfg.Faults = slices.Concat(c.Config.Faults, Draw(cfg, c.Kinds))
	return cfg
}

// Run runs the seeds. What it returns does not depend on how they are spread.
func (c Campaign) Run(ctx context.Context, sim Simulator) (o Outcome) {
	var running errgroup.Group
	running.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	groups := map[string]*Group{}
	o.Totals.Wait = newWaits()
	for n := 0; n < c.Seeds && ctx.Err() == nil; n++ {
		running.Go(func() error {
			cfg := c.Case(c.Config.Seed + seed.Seed(n))
			r := sim(cfg)
			mu.Lock()
			defer mu.Unlock()
			o.Totals.merge(&r.Totals)
			for _, f := range r.Findings {
				gather(groups, cfg, f, r.Counts[f.Name()])
			}
			return nil
		})
	}
	_ = running.Wait() // none fails
	for _, g := range groups {
		o.Groups = append(o.Groups, *g)
	}
	harmless := func(g Group) int { return map[bool]int{false: 1}[g.Example.Kind.Bad()] }
	slices.SortFunc(o.Groups, func(a, b Group) int {
		return cmp.Or(harmless(a)-harmless(b), b.Seeds-a.Seeds, cmp.Compare(a.Name, b.Name))
	})
	return o
}

// gather adds what one run found under one name.
func gather(groups map[string]*Group, cfg Config, f Finding, count int) {
	g := groups[f.Name()]
	if g == nil {
		g = &Group{Name: f.Name()}
		groups[f.Name()] = g
	}
	if g.Seeds == 0 || cfg.Seed < g.First {
		g.First, g.Hold, g.Example = cfg.Seed, cfg.Load.Hold, f
	}
	g.Seeds++
	g.Count += count
}
