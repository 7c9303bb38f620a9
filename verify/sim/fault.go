package sim

import (
	"fmt"
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
	// Drift has the clocks of A run Rate times as fast, and jump by Step as it begins.
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
	Step   time.Duration `json:"step_ns,omitempty"`
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
		fmt.Fprintf(&b, "clock of %s at %.4g times its speed, jumps by %v", ranks(f.A), f.Rate, f.Step)
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
