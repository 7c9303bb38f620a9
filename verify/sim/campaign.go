package sim

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync/atomic"
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
	// Workers run seeds side by side; 0: as many as there are processors.
	Workers int
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

// Campaign runs the seeds, each worker with a simulator of its own. What it returns
// does not depend on how they are spread.
func Campaign(ctx context.Context, newSimulator func() Simulator, plan Plan) (Outcome, error) {
	workers := plan.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var (
		next  atomic.Int64
		all   errgroup.Group
		parts = make([]part, max(1, min(workers, plan.Seeds)))
	)
	for w := range parts {
		all.Go(func() error {
			sim := newSimulator()
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= plan.Seeds {
					break
				}
				if err := parts[w].run(sim, plan.Case(seedOf(plan.Config.Seed, n))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return Outcome{}, err
	}
	var o Outcome
	groups := map[string]*Group{}
	for i := range parts {
		p := &parts[i]
		o.Totals.Merge(&p.totals)
		for name, g := range p.groups {
			merge(groups, name, *g)
		}
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

// part is what one worker has found.
type part struct {
	totals Totals
	groups map[string]*Group
}

func (p *part) run(sim Simulator, cfg Config) error {
	r, err := sim.Run(cfg)
	if err != nil {
		return err
	}
	p.totals.Add(&r)
	if p.groups == nil {
		p.groups = map[string]*Group{}
	}
	for name, n := range r.Counts {
		g := Group{Name: name, Seeds: 1, Count: n, First: cfg.Seed, Hold: cfg.Load.Hold}
		if i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Name() == name }); i >= 0 {
			g.Example = r.Findings[i]
		}
		merge(p.groups, name, g)
	}
	return nil
}

func merge(groups map[string]*Group, name string, g Group) {
	old := groups[name]
	if old == nil {
		groups[name] = &g
		return
	}
	old.Seeds += g.Seeds
	old.Count += g.Count
	if g.First < old.First {
		old.First, old.Hold, old.Example = g.First, g.Hold, g.Example
	}
}
