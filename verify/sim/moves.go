package sim

import (
	"slices"
	"time"
)

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
