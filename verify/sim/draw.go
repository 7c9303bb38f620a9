package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

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
