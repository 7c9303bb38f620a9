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
	Runs    int    // that it took
	Events  uint64 // of the last one, up to the violation
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
	s := &shrinker{sim: sim, kind: kind}
	cfg = cfg.withDefaults()
	cfg.Trace, cfg.stopAtFirst = nil, true
	var ok bool
	if s.best, ok = s.try(cfg, 1); !ok {
		return Minimal{Config: cfg}
	}
	moves := []move{withoutFault, withoutPeer, plain, simplerFault, fewerOps, sooner}
	for better := true; better; {
		better = false
		for _, m := range moves {
			for n := 0; s.spent < shrinkEvents; n++ {
				c := s.best.Config
				c.Faults, c.Load.Ops = slices.Clone(c.Faults), slices.Clone(c.Load.Ops)
				if !m(&c, n) {
					break
				}
				if found, ok := s.try(c, caseSeedMax); ok && slices.Compare(cost(found), cost(s.best)) < 0 {
					s.best, better = found, true
					n-- // once more
				}
			}
		}
	}
	s.best.Runs = s.runs
	return s.best
}

type shrinker struct {
	sim   Simulator
	kind  FindingKind
	best  Minimal
	runs  int
	spent uint64
}

// try runs the case with up to so many seeds.
func (s *shrinker) try(cfg Config, seeds int) (Minimal, bool) {
	first, until := cfg.Seed, s.spent+caseEvents
	for n := 0; n < seeds && (n < caseSeeds || s.spent < until); n++ {
		cfg.Seed = first + seed.Seed(n)
		r := s.sim(cfg)
		s.runs++
		s.spent += r.Events
		if bad := r.Bad(); bad != nil && bad.Kind == s.kind {
			return Minimal{Config: cfg, Finding: *bad, Events: r.Events}, true
		}
	}
	return Minimal{}, false
}

// cost orders cases: faults, peers, ranks that are hit, give-ups, how long the faults last, and how much
// happens until the violation.
func cost(m Minimal) []int {
	c := m.Config
	hit, last, giveUp := 0, time.Duration(0), 0
	for _, f := range c.Faults {
		hit += len(f.A) + len(f.B)
		if f.OneWay {
			hit++ // the plain thing is both ways
		}
		last += f.Until
	}
	if c.Load.GiveUp > 0 {
		giveUp = 1
	}
	return []int{len(c.Faults), c.Peers, hit, giveUp, int(last), int(m.Events)}
}

// move makes the n-th simpler case of its sort, false if there are no more.
type move func(c *Config, n int) bool

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
	if gone < len(c.Load.Ops) {
		c.Load.Ops = slices.Delete(c.Load.Ops, gone, gone+1)
	}
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
		return len(f.A) == 0 || len(f.B) == 0 && (f.Kind == Partition || f.Kind == Slow)
	})
	return true
}

// plain starts with all connections, and has no client give up.
func plain(c *Config, n int) bool {
	done := c.Formed && c.Load.GiveUp == 0
	c.Formed, c.Load.GiveUp = true, 0
	return n == 0 && !done
}

// simplerFault makes one fault hit fewer ranks, work both ways, begin at once, or shorter.
func simplerFault(c *Config, n int) bool {
	const changes = 5
	if n/changes >= len(c.Faults) {
		return false
	}
	f := &c.Faults[n/changes]
	length := f.Until - f.From
	switch n % changes {
	case 0:
		f.A = f.A[:1]
	case 1:
		f.B = f.B[:min(len(f.B), 1)]
	case 2:
		f.OneWay = false
	case 3:
		f.From = 0
	case 4:
		length = max((length * 2 / 3).Round(time.Millisecond), time.Millisecond)
	}
	f.Until = f.From + length
	return true
}

// fewerOps lets all peers ask less often, or one.
func fewerOps(c *Config, n int) bool {
	few := []int{0, 1, 2, 3, 5, 8, 13, 21}
	for len(c.Load.Ops) < c.Peers {
		c.Load.Ops = append(c.Load.Ops, -1)
	}
	ops, one := few[n%len(few)], n/len(few)-1 // -1: all
	for r, old := range c.Load.Ops {
		if (one < 0 || r == one) && (old < 0 || ops < old) {
			c.Load.Ops[r] = ops
		}
	}
	return one < c.Peers
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
