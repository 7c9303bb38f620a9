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
	Kind   Kind          `json:"kind"`
	From   time.Duration `json:"from_ns"`
	Until  time.Duration `json:"until_ns"`
	A      []int         `json:"a"`           // ranks
	B      []int         `json:"b,omitempty"` // Partition, Slow: the ranks of the other side
	OneWay bool          `json:"one_way,omitempty"`
	Delay  time.Duration `json:"delay_ns,omitempty"`
	Rate   float64       `json:"rate,omitempty"`
}

func (f Fault) validate(peers int) error {
	if !slices.Contains(Kinds(), f.Kind) {
		return fmt.Errorf("kind %q: want one of %v: %w", f.Kind, Kinds(), ErrInvalid)
	}
	if f.From < 0 || f.Until <= f.From {
		return fmt.Errorf("want 0 <= from < until: %w", ErrInvalid)
	}
	for _, r := range slices.Concat(f.A, f.B) {
		if r < 0 || r >= peers {
			return fmt.Errorf("rank %d: want 0 to %d: %w", r, peers-1, ErrInvalid)
		}
	}
	switch {
	case len(f.A) == 0 || (f.between() && len(f.B) == 0):
		return fmt.Errorf("it hits nobody: %w", ErrInvalid)
	case f.between() && slices.ContainsFunc(f.A, func(r int) bool { return slices.Contains(f.B, r) }):
		return fmt.Errorf("a rank is on both sides: %w", ErrInvalid)
	case f.Kind == Slow && f.Delay <= 0:
		return fmt.Errorf("want a delay above 0: %w", ErrInvalid)
	case f.Kind == Drift && !(f.Rate > 0):
		return fmt.Errorf("want a rate above 0: %w", ErrInvalid)
	}
	return nil
}

// between says that it is a fault of connections.
func (f Fault) between() bool { return f.Kind == Partition || f.Kind == Slow }

// hits says whether messages from one rank to the other are concerned.
func (f Fault) hits(from, to int) bool {
	return slices.Contains(f.A, from) && slices.Contains(f.B, to) ||
		!f.OneWay && slices.Contains(f.B, from) && slices.Contains(f.A, to)
}

func (f Fault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v to %v: ", f.From, f.Until)
	switch {
	case f.Kind == Partition && f.OneWay:
		fmt.Fprintf(&b, "nothing from %s reaches %s", ranks(f.A), ranks(f.B))
	case f.Kind == Partition:
		fmt.Fprintf(&b, "%s cut from %s", ranks(f.A), ranks(f.B))
	case f.Kind == Slow && f.OneWay:
		fmt.Fprintf(&b, "from %s to %s %v slower", ranks(f.A), ranks(f.B), f.Delay)
	case f.Kind == Slow:
		fmt.Fprintf(&b, "between %s and %s %v slower", ranks(f.A), ranks(f.B), f.Delay)
	case f.Kind == Drift:
		fmt.Fprintf(&b, "clock of %s at %.4g times its speed", ranks(f.A), f.Rate)
	default:
		fmt.Fprintf(&b, "%s of %s", f.Kind, ranks(f.A))
	}
	return b.String()
}

// ranks writes p0,p2.
func ranks(all []int) string {
	words := make([]string, len(all))
	for i, r := range all {
		words[i] = fmt.Sprintf("p%d", r)
	}
	return strings.Join(words, ",")
}

// Draw makes up to four faults of the given kinds for a run of the config, which all
// come from the config's seed and end in the first four fifths of its duration. No
// kinds, no faults.
func Draw(cfg Config, kinds []Kind) []Fault {
	cfg = cfg.withDefaults()
	if len(kinds) == 0 {
		return nil
	}
	r := cfg.Seed.Child("faults").Rand()
	d := drawing{cfg, r}
	const most = 4
	faults := make([]Fault, 0, most)
	for range 1 + r.IntN(most) {
		if f, ok := d.fault(kinds[r.IntN(len(kinds))]); ok {
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
	switch kind {
	case Partition, Slow:
		if f.A, f.B = d.sides(); len(f.A) == 0 {
			return f, false
		}
		f.OneWay = d.r.IntN(4) == 0
		if kind == Slow {
			f.Delay = d.between(time.Millisecond, 100*time.Millisecond)
		}
	case Drift:
		f.A = []int{d.r.IntN(d.cfg.Peers)}
		f.Rate = 1 + (d.r.Float64()-0.5)/10 // up to 5% off, either way
	default:
		f.A = []int{d.r.IntN(d.cfg.Peers)}
	}
	return f, true
}

// between is drawn so that every power of two is as likely.
func (d drawing) between(low, high time.Duration) time.Duration {
	return time.Duration(float64(low) * math.Exp(d.r.Float64()*math.Log(float64(high)/float64(low))))
}

// sides are zones against zones, or one or two peers against some.
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
	} else {
		one := d.r.IntN(d.cfg.Peers)
		a = []int{one}
		all := d.r.IntN(2) == 0
		for i := range d.cfg.Peers {
			if i != one && (all || d.r.IntN(2) == 0) {
				b = append(b, i)
			}
		}
	}
	if len(a) == 0 || len(b) == 0 {
		return nil, nil
	}
	return a, b
}
