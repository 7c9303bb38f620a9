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
// shorter and rounder faults, fewer requests. The result depends on nothing but its arguments. If cfg
// does not show the finding the result has no Finding.
func Shrink(sim Simulator, cfg Config, kind FindingKind) Minimal {
	s := &shrinker{sim: sim, kind: kind}
	cfg = cfg.withDefaults()
	cfg.Trace, cfg.stopAtFirst = nil, true
	var ok bool
	if s.best, ok = s.try(cfg, 1); !ok {
		return Minimal{Config: cfg}
	}
	moves := []move{
		withoutFault, withoutPeer, plain, simplerFault, withoutHit, fewerOps, otherTimes, sooner,
	}
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

// cost orders cases: faults, peers, ranks that are hit, give-ups, how round the times of the faults
// are, and how much happens until the violation.
func cost(m Minimal) []int {
	c := m.Config
	hit, digits, giveUp := 0, 0, 0
	for _, f := range c.Faults {
		hit += len(f.A) + len(f.B)
		if f.OneWay {
			hit++ // the plain thing is both ways
		}
		for _, d := range [...]time.Duration{f.From, f.Until - f.From, f.Delay} {
			for d != 0 && d%10 == 0 {
				d /= 10
			}
			for ; d != 0; d /= 10 {
				digits++
			}
		}
	}
	if c.Load.GiveUp > 0 {
		giveUp = 1
	}
	return []int{len(c.Faults), c.Peers, hit, giveUp, digits, int(m.Events)}
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

// simplerFault makes one fault work both ways, begin at once, shorter, or its times rounder.
func simplerFault(c *Config, n int) bool {
	units := []time.Duration{
		time.Second, 500 * time.Millisecond, 100 * time.Millisecond, 50 * time.Millisecond, 10 * time.Millisecond, time.Millisecond,
	}
	const others = 3
	changes := others + len(units)
	if n/changes >= len(c.Faults) {
		return false
	}
	f := &c.Faults[n/changes]
	length := f.Until - f.From
	switch k := n % changes; k {
	case 0:
		f.OneWay = false
	case 1:
		f.From = 0
	case 2:
		length = max(length*2/3, time.Millisecond)
	default:
		unit := units[k-others]
		f.From, length = f.From.Round(unit), max(length.Round(unit), unit)
		if f.Delay > 0 {
			f.Delay = max(f.Delay.Truncate(time.Millisecond), time.Millisecond)
		}
	}
	f.Until = f.From + length
	return true
}

// withoutHit takes one rank out of one side of a fault between two.
func withoutHit(c *Config, n int) bool {
	for i := range c.Faults {
		f := &c.Faults[i]
		for _, side := range []*[]int{&f.A, &f.B} {
			if len(*side) < 2 {
				continue
			}
			if n < len(*side) {
				*side = slices.Delete(slices.Clone(*side), n, n+1)
				return true
			}
			n -= len(*side)
		}
	}
	return false
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

// otherTimes lets clients think, or hold, longer or shorter: so that less happens around a fault, or
// that requests cross sooner.
func otherTimes(c *Config, n int) bool {
	const longest = 2 * time.Second
	changes := []float64{8, 2, 1.0 / 8, 1.0 / 2}
	t := &c.Load.Think
	if n >= len(changes) {
		t = &c.Load.Hold
	}
	*t = min(time.Duration(changes[n%len(changes)]*float64(max(*t, time.Millisecond))), longest)
	return n < 2*len(changes)
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
