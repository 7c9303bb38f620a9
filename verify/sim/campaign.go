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

// Plan is a campaign: many runs that differ in their seeds.
type Plan struct {
	Config Config // Seed is the first; Faults are added to those that are drawn
	Seeds  int
	Kinds  []Kind // of the faults that every seed draws; none: no faults
	// Holds, if there are any, are the times of which every seed draws its Load.Hold.
	Holds []time.Duration
}

// Outcome is what a campaign found.
type Outcome struct {
	Totals Totals
	Groups []Group // of findings; violations first, then the most frequent
	Done   int     // seeds that were run: fewer than planned if ctx ended it
}

// Bad says that there was a violation.
func (o *Outcome) Bad() bool {
	return slices.ContainsFunc(o.Groups, func(g Group) bool { return g.Example.Kind.Bad() })
}

// Holds are times to hold the lock under faults: shorter than anything else, longer than
// it takes to notice that a peer is gone, and longer than a lease. Faults that hit a
// holder, or what it relies on, show with long ones only.
func Holds() []time.Duration {
	return []time.Duration{5 * time.Millisecond, time.Second, 3 * time.Second}
}

// Group is all findings of a kind under the same kinds of faults.
type Group struct {
	Name    string        `json:"name"`
	Seeds   int           `json:"seeds"` // in how many
	Count   int           `json:"count"` // how many in all
	First   seed.Seed     `json:"first_seed"`
	Hold    time.Duration `json:"hold_ns"` // Load.Hold of the first
	Example Finding       `json:"example"`
}

// Case is the run of one seed of the campaign.
func (p Plan) Case(s seed.Seed) Config {
	cfg := p.Config
	cfg.Seed = s
	if n := len(p.Holds); n > 0 {
		cfg.Load.Hold = p.Holds[s.Child("hold").Rand().IntN(n)]
	}
	cfg.Faults = slices.Concat(p.Config.Faults, Draw(cfg, p.Kinds))
	return cfg
}

// Campaign runs the seeds. What it returns does not depend on how they are spread.
func Campaign(ctx context.Context, sim Simulator, plan Plan) (Outcome, error) {
	all, running := errgroup.WithContext(ctx)
	all.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	var o Outcome
	groups := map[string]*Group{}
	for n := 0; n < plan.Seeds && running.Err() == nil; n++ {
		all.Go(func() error {
			cfg := plan.Case(plan.Config.Seed + seed.Seed(n))
			r, err := sim.Run(cfg)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			o.Totals.Merge(&r.Totals)
			gather(groups, cfg, &r)
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return Outcome{}, err
	}
	o.Done = o.Totals.Runs
	for _, g := range groups {
		o.Groups = append(o.Groups, *g)
	}
	slices.SortFunc(o.Groups, func(a, b Group) int {
		if a.Example.Kind.Bad() != b.Example.Kind.Bad() {
			if a.Example.Kind.Bad() {
				return -1
			}
			return 1
		}
		return cmp.Or(b.Seeds-a.Seeds, cmp.Compare(a.Name, b.Name))
	})
	return o, nil
}

// gather adds what one run found.
func gather(groups map[string]*Group, cfg Config, r *Result) {
	for name, n := range r.Counts {
		g := groups[name]
		if g == nil {
			g = &Group{Name: name}
			groups[name] = g
		}
		if g.Seeds == 0 || cfg.Seed < g.First {
			g.First, g.Hold = cfg.Seed, cfg.Load.Hold
			g.Example = r.Findings[slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Name() == name })]
		}
		g.Seeds++
		g.Count += n
	}
}
