package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The faults.
const (
	// Partition cuts A from B, in both directions or, if OneWay, only what A says to B.
	// What is sent is kept and arrives after the end, as with TCP, unless the
	// connection was given up meanwhile.
	Partition Kind = "partition"
	// Crash ends the processes of A; they start again when it ends, with what their core
	// keeps on disk, if it does, and without memory.
	Crash Kind = "crash"
	// Pause stops the processes of A: they do nothing, messages queue, leases run on.
	Pause Kind = "pause"
	// Slow delays what A and B say to each other, or A to B, by Delay.
	Slow Kind = "slow"
	// Drift has the clocks of A run Rate times as fast.
	Drift Kind = "drift"
)

// Kinds are all kinds of faults.
func Kinds() []Kind { return []Kind{Partition, Crash, Pause, Slow, Drift} }

// Fault is something that is broken for a while.
type Fault struct {
	Kind   Kind
	From   time.Duration
	Until  time.Duration
	A      []int // ranks
	B      []int // Partition, Slow: the ranks of the other side
	OneWay bool
	Delay  time.Duration
	Rate   float64
}

// ofLinks says that it is between A and B.
func (f Fault) ofLinks() bool { return f.Kind == Partition || f.Kind == Slow }

// hits says whether messages from one rank to the other are concerned.
func (f Fault) hits(from, to int) bool {
	return slices.Contains(f.A, from) && slices.Contains(f.B, to) ||
		!f.OneWay && slices.Contains(f.B, from) && slices.Contains(f.A, to)
}

// during says that something is broken at a moment.
func (f Fault) during(at int64) bool { return int64(f.From) <= at && at < int64(f.Until) }

func (f Fault) String() string {
	what := fmt.Sprintf("%s of %s", f.Kind, ranks(f.A))
	switch {
	case f.Kind == Partition && f.OneWay:
		what = fmt.Sprintf("nothing from %s reaches %s", ranks(f.A), ranks(f.B))
	case f.Kind == Partition:
		what = fmt.Sprintf("%s cut from %s", ranks(f.A), ranks(f.B))
	case f.Kind == Slow && f.OneWay:
		what = fmt.Sprintf("from %s to %s %v slower", ranks(f.A), ranks(f.B), f.Delay)
	case f.Kind == Slow:
		what = fmt.Sprintf("between %s and %s %v slower", ranks(f.A), ranks(f.B), f.Delay)
	case f.Kind == Drift:
		what = fmt.Sprintf("clock of %s at %.4g times its speed", ranks(f.A), f.Rate)
	}
	return fmt.Sprintf("%v to %v: %s", f.From, f.Until, what)
}

// ranks writes p0,p2.
func ranks(all []int) string {
	words := make([]string, len(all))
	for i, r := range all {
		words[i] = fmt.Sprintf("p%d", r)
	}
	return strings.Join(words, ",")
}

// due is when d has passed on the clock of a peer since the given moment.
func (c *Config) due(i int, from int64, d time.Duration) int64 {
	at, left := from, float64(d)
	for {
		rate, next := c.clockAt(i, at)
		passes := float64(next-at) * rate
		if next < 0 || passes >= left {
			return at + int64(left/rate)
		}
		left -= passes
		at = next
	}
}

// clockAt is how fast the clock of a peer runs, and until when (-1: for good).
func (c *Config) clockAt(i int, at int64) (rate float64, next int64) {
	rate, next = 1, -1
	for _, f := range c.Faults {
		if f.Kind != Drift || !slices.Contains(f.A, i) {
			continue
		}
		if f.during(at) {
			rate *= f.Rate
		}
		for _, edge := range [...]int64{int64(f.From), int64(f.Until)} {
			if edge > at && (next < 0 || edge < next) {
				next = edge
			}
		}
	}
	return rate, next
}

// Draw makes up to four faults of the given kinds for a run of the config, which all come from the
// config's seed and end in the first four fifths of its duration. No kinds, no faults.
func Draw(cfg Config, kinds []Kind) (faults []Fault) {
	if len(kinds) == 0 {
		return nil
	}
	d := drawing{cfg.withDefaults(), cfg.Seed.Child("faults").Rand()}
	const most = 4
	for range 1 + d.r.IntN(most) {
		if f, ok := d.fault(kinds[d.r.IntN(len(kinds))]); ok {
			faults = append(faults, f)
		}
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return int(a.From - b.From) })
	return faults
}

type drawing struct {
	cfg Config
	r   *rand.Rand
}

func (d drawing) fault(kind Kind) (Fault, bool) {
	f := Fault{Kind: kind}
	end := d.cfg.Duration * 4 / 5
	f.From = time.Duration(d.r.Int64N(int64(end*3/4)) + 1)
	// As many short ones as long ones: from a twentieth of a second to a quarter of the run.
	f.Until = min(f.From+d.between(50*time.Millisecond, max(d.cfg.Duration/4, 60*time.Millisecond)), end)
	if f.ofLinks() {
		if f.A, f.B = d.sides(); len(f.A) == 0 || len(f.B) == 0 {
			return f, false
		}
		f.OneWay = d.r.IntN(4) == 0
		if kind == Slow {
			f.Delay = d.between(time.Millisecond, 100*time.Millisecond)
		}
		return f, true
	}
	f.A = []int{d.r.IntN(d.cfg.Peers)}
	if kind == Drift {
		f.Rate = 1 + (d.r.Float64()-0.5)/10 // up to 5% off, either way
	}
	return f, true
}

// between is drawn so that every power of two is as likely.
func (d drawing) between(low, high time.Duration) time.Duration {
	return time.Duration(float64(low) * math.Exp(d.r.Float64()*math.Log(float64(high)/float64(low))))
}

// sides are zones against zones, or one peer against some.
func (d drawing) sides() (a, b []int) {
	if d.r.IntN(2) == 0 && d.cfg.Zones > 1 {
		left := make([]bool, d.cfg.Zones)
		for z := range left {
			left[z] = d.r.IntN(2) == 0
		}
		for i := range d.cfg.Peers {
			if left[i%d.cfg.Zones] {
				a = append(a, i)
			} else {
				b = append(b, i)
			}
		}
		return a, b
	}
	one := d.r.IntN(d.cfg.Peers)
	all := d.r.IntN(2) == 0
	for i := range d.cfg.Peers {
		if i != one && (all || d.r.IntN(2) == 0) {
			b = append(b, i)
		}
	}
	return []int{one}, b
}
