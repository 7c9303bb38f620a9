package sim

import (
	"slices"
	"time"

	"locklab/internal/seed"
)

// Minimal is what is left of a run that shows a violation.
type Minimal struct {
	Config  Config // run it again with a Trace to read what happens
	Finding Finding
	Events  uint64 // up to the violation
}

// The work is bounded by the events that are simulated: some seconds in all.
const (
	shrinkEvents = 40_000_000
	// Every simpler case gets some seeds, more the shorter it is: what matters is whether it can go
	// wrong; when each client asks is luck.
	caseEvents  = 400_000
	caseSeeds   = 12
	caseSeedMax = 1_000
)

// Shrink looks for a simpler run with the same kind of finding: the fewest faults, then fewer peers,
// shorter faults, fewer requests. The result depends on nothing but its arguments. If cfg
// does not show the finding the result has no Finding.
func Shrink(sim Simulator, cfg Config, kind FindingKind) Minimal {
	cfg = cfg.withDefaults()
	cfg.Trace, cfg.stopAtFirst = nil, true
	spent := uint64(0)
	try := func(cfg Config, seeds int) (Minimal, bool) {
		first, until := cfg.Seed, spent+caseEvents
		for n := 0; n < seeds && (n < caseSeeds || spent < until); n++ {
			cfg.Seed = first + seed.Seed(n)
			r := sim(cfg)
			spent += r.Events
			if bad := r.Bad(); bad != nil && bad.Kind == kind {
				return Minimal{Config: cfg, Finding: *bad, Events: r.Events}, true
			}
		}
		return Minimal{}, false
	}
	best, ok := try(cfg, 1)
	if !ok {
		return Minimal{Config: cfg}
	}
	for better := true; better; {
		better = false
		for _, simplify := range []func(c *Config, n int) bool{withoutFault, withoutPeer, simplerFault, fewerOps, sooner} {
			for n := 0; spent < shrinkEvents; n++ {
				c := best.Config
				c.Faults = slices.Clone(c.Faults)
				if !simplify(&c, n) {
					break
				}
				if found, ok := try(c, caseSeedMax); ok && slices.Compare(found.cost(), best.cost()) < 0 {
					best, better = found, true
					n-- // once more
				}
			}
		}
	}
	return best
}

// cost orders cases: faults, peers, how long the faults last, and how much happens until the violation.
func (m Minimal) cost() []int {
	ends := time.Duration(0)
	for _, f := range m.Config.Faults {
		ends += f.Until
	}
	return []int{len(m.Config.Faults), m.Config.Peers, int(ends), int(m.Events)}
}

// Each of these makes the n-th simpler case of its sort, false if there are no more.

func withoutFault(c *Config, n int) bool {
	if n >= len(c.Faults) {
		return false
	}
	c.Faults = slices.Delete(c.Faults, n, n+1)
	return true
}

// withoutPeer takes a peer out, the lowest-ranking first. Those behind it move up.
func withoutPeer(c *Config, n int) bool {
	gone := c.Peers - 1 - n
	if c.Peers <= 1 || gone < 0 {
		return false
	}
	c.Peers--
	c.Zones = min(c.Zones, c.Peers)
	without := func(ranks []int) (rest []int) {
		for _, r := range ranks {
			switch {
			case r < gone:
				rest = append(rest, r)
			case r > gone:
				rest = append(rest, r-1)
			}
		}
		return rest
	}
	for i := range c.Faults {
		f := &c.Faults[i]
		f.A, f.B = without(f.A), without(f.B)
	}
	c.Faults = slices.DeleteFunc(c.Faults, func(f Fault) bool {
		return len(f.A) == 0 || len(f.B) == 0 && f.ofLinks()
	})
	return true
}

// simplerFault makes one fault begin as soon as the peers have met, or shorter.
func simplerFault(c *Config, n int) bool {
	if n/2 >= len(c.Faults) {
		return false
	}
	f := &c.Faults[n/2]
	length := f.Until - f.From
	if n%2 == 0 {
		f.From = min(f.From, 200*time.Millisecond)
	} else {
		length = max((length * 2 / 3).Round(time.Millisecond), time.Millisecond)
	}
	f.Until = f.From + length
	return true
}

// fewerOps lets all peers ask so few times.
func fewerOps(c *Config, n int) bool {
	few := []int{1, 2, 3, 5, 8, 13, 21}
	if n >= len(few) {
		return false
	}
	c.Load.Ops = slices.Repeat([]int{few[n]}, c.Peers)
	return true
}

// sooner lets the clients stop earlier.
func sooner(c *Config, n int) bool {
	last := c.Duration / 2
	for _, f := range c.Faults {
		last = max(last, f.Until)
	}
	c.Duration = last
	return n == 0
}
