package sim

import (
	"math"
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
	shrinkEvents = 120_000_000
	// Every simpler case gets some seeds, more the shorter it is: what matters is whether
	// it can go wrong; when each client asks is luck.
	caseEvents  = 400_000
	caseSeeds   = 12
	caseSeedMax = 5_000
)

// Shrink looks for a simpler run with the same kind of finding: first the fewest
// faults (delta debugging), then fewer peers, shorter and rounder faults, fewer
// requests. The result depends on nothing but its arguments. If cfg does not show the
// finding the result has no Finding.
func Shrink(sim Simulator, cfg Config, kind FindingKind) (Minimal, error) {
	cfg = cfg.withDefaults()
	cfg.Trace, cfg.StopAtFirst = nil, true
	s := &shrinker{sim: sim, kind: kind}
	if !s.shows(cfg, false) {
		return Minimal{Config: cfg, Runs: s.runs}, s.err
	}
	faults := slices.Clone(s.best.Config.Faults)
	kept := Minimize(faults, func(some []Fault) bool {
		c := s.best.Config
		c.Faults = some
		return s.shows(c, true)
	})
	if len(kept) < len(faults) { // the last one that was tried need not be the least
		c := s.best.Config
		c.Faults = kept
		s.shows(c, true)
	}
	for better := true; better && s.err == nil && s.spent < shrinkEvents; {
		better = false
		for _, move := range moves() {
			for n := 0; s.spent < shrinkEvents; n++ {
				c, ok := move(clone(s.best.Config), n)
				if !ok {
					break
				}
				if s.better(c) {
					better = true
				}
			}
		}
	}
	s.best.Runs = s.runs
	return s.best, s.err
}

type shrinker struct {
	sim   Simulator
	kind  FindingKind
	best  Minimal
	cost  []int64
	runs  int
	spent uint64
	err   error
}

// shows tries the case, with other seeds too if it may. If one shows the finding it
// becomes the best case.
func (s *shrinker) shows(cfg Config, others bool) bool {
	m, ok := s.try(cfg, others)
	if ok {
		s.best, s.cost = m, cost(m)
	}
	return ok
}

// better takes a case that shows the finding and is simpler than the best one.
func (s *shrinker) better(cfg Config) bool {
	m, ok := s.try(cfg, true)
	if !ok || slices.Compare(cost(m), s.cost) >= 0 {
		return false
	}
	s.best, s.cost = m, cost(m)
	return true
}

func (s *shrinker) try(cfg Config, others bool) (Minimal, bool) {
	first, until := cfg.Seed, s.spent+caseEvents
	for n := 0; n == 0 || others && (n < caseSeeds || s.spent < until) && n < caseSeedMax; n++ {
		if s.err != nil {
			return Minimal{}, false
		}
		cfg.Seed = first + seed.Seed(n)
		r, err := s.sim.Run(cfg)
		s.runs++
		s.spent += r.Events
		s.err = err
		if bad := r.Bad(); bad != nil && bad.Kind == s.kind {
			return Minimal{Config: cfg, Finding: *bad, Events: r.Events}, true
		}
	}
	return Minimal{}, false
}

// cost orders cases: faults, peers, who is hit, give-ups, how round the times of the
// faults are, and how much happens until the violation.
func cost(m Minimal) []int64 {
	c := m.Config
	hit, digits, giveUp := 0, 0, int64(0)
	for _, f := range c.Faults {
		hit += len(f.A) + len(f.B)
		if f.OneWay {
			hit++ // the plain thing is both ways
		}
		for _, d := range [...]time.Duration{f.From, f.Until - f.From, f.Delay} {
			digits += digitsOf(d)
		}
	}
	if c.Load.GiveUp > 0 {
		giveUp = 1
	}
	return []int64{int64(len(c.Faults)), int64(c.Peers), int64(hit), giveUp, int64(digits), int64(min(m.Events, math.MaxInt64))}
}

// digitsOf counts those that are needed to write the time, in nanoseconds without the
// zeros at its end.
func digitsOf(d time.Duration) int {
	for d != 0 && d%10 == 0 {
		d /= 10
	}
	n := 0
	for ; d != 0; d /= 10 {
		n++
	}
	return n
}

func clone(c Config) Config {
	c.Faults = slices.Clone(c.Faults)
	c.Load.Ops = slices.Clone(c.Load.Ops)
	return c
}

// Minimize is delta debugging (Zeller's ddmin): it returns a part of all for which
// shows is true and that loses it if any single member is taken out. shows(all) must
// be true; it is asked for parts of all in the order of all.
func Minimize[T any](all []T, shows func(some []T) bool) []T {
	if shows(nil) {
		return nil
	}
	for parts := 2; len(all) >= 2; {
		size := (len(all) + parts - 1) / parts
		smaller := false
		for at := 0; at < len(all); at += size {
			end := min(at+size, len(all))
			rest := slices.Concat(all[:at], all[end:])
			if shows(rest) {
				all, parts, smaller = rest, max(parts-1, 2), true
				break
			}
		}
		switch {
		case smaller:
		case parts >= len(all):
			return all
		default:
			parts = min(2*parts, len(all))
		}
	}
	return all
}

// move makes the n-th simpler case of its sort, false if there are no more.
type move func(c Config, n int) (Config, bool)

func moves() []move {
	return []move{withoutPeer, formed, withoutGiveUp, bothWays, withoutHit, earlier, shorter, rounder, fewerOps, otherTimes, sooner}
}

// withoutPeer takes a peer out, the lowest-ranking first. Those behind it move up.
func withoutPeer(c Config, n int) (Config, bool) {
	r := c.Peers - 1 - n
	if c.Peers <= 1 || r < 0 {
		return c, false
	}
	c.Peers--
	c.Zones = min(c.Zones, c.Peers)
	if r < len(c.Load.Ops) {
		c.Load.Ops = slices.Delete(c.Load.Ops, r, r+1)
	}
	without := func(ranks []int) (rest []int) {
		for _, o := range ranks {
			switch {
			case o < r:
				rest = append(rest, o)
			case o > r:
				rest = append(rest, o-1)
			}
		}
		return rest
	}
	var faults []Fault
	for _, f := range c.Faults {
		f.A, f.B = without(f.A), without(f.B)
		if len(f.A) > 0 && (len(f.B) > 0 || !f.between()) {
			faults = append(faults, f)
		}
	}
	c.Faults = faults
	return c, true
}

func formed(c Config, n int) (Config, bool) {
	if n > 0 || c.Formed {
		return c, false
	}
	c.Formed = true
	return c, true
}

func withoutGiveUp(c Config, n int) (Config, bool) {
	if n > 0 || c.Load.GiveUp == 0 {
		return c, false
	}
	c.Load.GiveUp = 0
	return c, true
}

// onFault applies a change to the n-th fault.
func onFault(c Config, n int, change func(f *Fault)) (Config, bool) {
	if n >= len(c.Faults) {
		return c, false
	}
	change(&c.Faults[n])
	return c, true
}

func bothWays(c Config, n int) (Config, bool) {
	return onFault(c, n, func(f *Fault) { f.OneWay = false })
}

// withoutHit takes one rank out of one side of a fault between two.
func withoutHit(c Config, n int) (Config, bool) {
	for i, f := range c.Faults {
		for side, ranks := range [][]int{f.A, f.B} {
			if len(ranks) < 2 {
				continue
			}
			if n < len(ranks) {
				rest := slices.Delete(slices.Clone(ranks), n, n+1)
				if side == 0 {
					c.Faults[i].A = rest
				} else {
					c.Faults[i].B = rest
				}
				return c, true
			}
			n -= len(ranks)
		}
	}
	return c, false
}

// otherTimes lets clients think, or hold, longer or shorter: so that less happens around
// a fault, or that requests cross sooner.
func otherTimes(c Config, n int) (Config, bool) {
	const longest = 2 * time.Second
	changes := []float64{8, 2, 1.0 / 8, 1.0 / 2}
	if n >= 2*len(changes) {
		return c, false
	}
	t := &c.Load.Think
	if n >= len(changes) {
		t = &c.Load.Hold
	}
	changed := changes[n%len(changes)] * float64(max(*t, time.Millisecond))
	*t = min(time.Duration(changed), longest)
	return c, true
}

// earlier moves all faults towards the beginning, or one.
func earlier(c Config, n int) (Config, bool) {
	if len(c.Faults) == 0 || n > len(c.Faults) {
		return c, false
	}
	some := c.Faults
	if n > 0 {
		some = c.Faults[n-1 : n]
	}
	first := some[0].From
	for _, f := range some {
		first = min(first, f.From)
	}
	by := first - first/4
	for i := range some {
		some[i].From -= by
		some[i].Until -= by
	}
	return c, true
}

func shorter(c Config, n int) (Config, bool) {
	return onFault(c, n, func(f *Fault) { f.Until = f.From + max((f.Until-f.From)*2/3, time.Millisecond) })
}

// rounder writes a time with fewer digits.
func rounder(c Config, n int) (Config, bool) {
	units := []time.Duration{time.Second, 500 * time.Millisecond, 100 * time.Millisecond, 50 * time.Millisecond, 10 * time.Millisecond, time.Millisecond}
	unit := units[n%len(units)]
	return onFault(c, n/len(units), func(f *Fault) {
		length := max((f.Until - f.From).Round(unit), unit)
		f.From = f.From.Round(unit)
		f.Until = f.From + length
		if f.Delay > 0 {
			f.Delay = max(f.Delay.Truncate(time.Millisecond), time.Millisecond)
		}
	})
}

// fewerOps lets all peers ask less often, or one.
func fewerOps(c Config, n int) (Config, bool) {
	few := []int{0, 1, 2, 3, 5, 8, 13, 21}
	if n >= len(few)*(c.Peers+1) {
		return c, false
	}
	for len(c.Load.Ops) < c.Peers {
		c.Load.Ops = append(c.Load.Ops, -1)
	}
	ops, one := few[n%len(few)], n/len(few)-1 // -1: all
	for r, old := range c.Load.Ops {
		if (one < 0 || r == one) && (old < 0 || ops < old) {
			c.Load.Ops[r] = ops
		}
	}
	return c, true
}

// sooner lets the clients stop earlier.
func sooner(c Config, n int) (Config, bool) {
	if n > 0 {
		return c, false
	}
	last := time.Duration(0)
	for _, f := range c.Faults {
		last = max(last, f.Until)
	}
	c.Duration = max(c.Duration/2, last)
	return c, true
}
