package result

import "math"

// Repeat is one run of a row's combination. Both maps are by the Field of a [Figure].
type Repeat struct {
	Figures map[string]float64 `json:"figures"`
	// Spread is the standard error of figures as the spread within this run shows it; see
	// package noise. What differs between runs is not in it.
	Spread map[string]float64 `json:"spread,omitempty"`
	// Range is where figures that are times lie by the same spread.
	Range map[string][2]float64 `json:"range,omitempty"`
}

// AvailabilityField is the figure of the share of the requests that ended well.
const AvailabilityField = "availability"

// StallField, LockStallField and ZoneStallField are the figures of the longest stall: of the lock
// or of a resource; where that is of a resource, of the lock; and of one zone.
const (
	StallField     = "stall_ms"
	LockStallField = "lock_stall_ms"
	ZoneStallField = "zone_stall_ms"
)

// OutageField is the figure of how long somebody was without the lock, anywhere or in one zone.
const OutageField = "outage_ms"

// The [Figure]s of how much of a stall no fault is to blame for, and of whether it went on when the
// measured part ended.
const (
	StallBefore     = "stall_before_ms"
	ZoneStallBefore = "zone_stall_before_ms"
	StallOpen       = "stall_open"
	ZoneStallOpen   = "zone_stall_open"
	LockStallBefore = "lock_stall_before_ms"
	LockStallOpen   = "lock_stall_open"
)

// WarmupField is the figure of the duplicates before the measured part.
const WarmupField = "duplicates.warmup"

// OthersField is the figure of how much of a machine others used.
const OthersField = "hosts.cpu_others"

// RepeatOf collects the figures of the row of one repeat.
func RepeatOf(r Row) Repeat {
	all := Repeat{Figures: map[string]float64{}}
	for _, f := range Figures() {
		if v, ok := f.Of(r); ok && f.Field != "" && finite(v) {
			all.Figures[f.Field] = v
		}
	}
	return all
}

// Values are those of a figure in each repeat, as far as they have it. Spread is the
// standard error within a single one; NaN if there are more, or it is not known.
func (r Row) Values(f Figure) (values []float64, spread float64) {
	spread = math.NaN()
	if r.NothingMeasured() {
		return nil, spread
	}
	for _, one := range r.PerRepeat {
		if v, has := one.Figures[f.Field]; has {
			values = append(values, v)
			if e, known := one.Spread[f.Field]; known && len(r.PerRepeat) == 1 {
				spread = e
			}
		}
	}
	if v, has := f.Of(r); has && len(values) == 0 { // of an older program
		values = []float64{v}
	}
	return values, spread
}
