package sim

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"locklab/locks/seed"
)

// Plan is a campaign: many runs that differ in their seeds.
type Plan struct {
	Config Config // Seed is the first; Faults are added to those that are drawn
	Seeds  int
	Kinds  []Kind // of the faults that every seed draws; none: no faults
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

// Group is all findings of a kind under the same kinds of faults.
type Group struct {
	Name    string    `json:"name"`
	Seeds   int       `json:"seeds"` // in how many
	Count   int       `json:"count"` // how many in all
	First   seed.Seed `json:"first_seed"`
	Example Finding   `json:"example"`
}

// Case is the run of one seed of the campaign.
func (p Plan) Case(s seed.Seed) Config {
	cfg := p.Config
	cfg.Seed = s
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
	workers = max(1, min(workers, plan.Seeds))
	var (
		next  atomic.Int64
		wg    sync.WaitGroup
		parts = make([]part, workers)
	)
	for w := range parts {
		wg.Go(func() {
			p := &parts[w]
			sim := newSimulator()
			for ctx.Err() == nil && p.err == nil {
				n := int(next.Add(1)) - 1
				if n >= plan.Seeds {
					return
				}
				p.run(sim, plan.Case(seedOf(plan.Config.Seed, n)))
			}
		})
	}
	wg.Wait()
	var o Outcome
	groups := map[string]*Group{}
	for i := range parts {
		p := &parts[i]
		if p.err != nil {
			return Outcome{}, p.err
		}
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
	err    error
}

func (p *part) run(sim Simulator, cfg Config) {
	r, err := sim.Run(cfg)
	if err != nil {
		p.err = err
		return
	}
	p.totals.Add(&r)
	if p.groups == nil {
		p.groups = map[string]*Group{}
	}
	for name, n := range r.Counts {
		g := Group{Name: name, Seeds: 1, Count: n, First: cfg.Seed}
		if i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Name() == name }); i >= 0 {
			g.Example = r.Findings[i]
		}
		merge(p.groups, name, g)
	}
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
		old.First, old.Example = g.First, g.Example
	}
}
