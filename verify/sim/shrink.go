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
