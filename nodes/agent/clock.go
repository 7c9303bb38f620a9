package agent

import (
	"context"
	"net/http"
	"time"

	"locklab/locks/clock"
)

// ClockReading is what the clocks of a host said at one moment.
type ClockReading struct {
	MonoNS int64 `json:"mono_ns"` // clock.Mono
	RealNS int64 `json:"real_ns"` // wall clock, since 1970
	// ApartNS is the time within which the two were read: together they may be wrong
	// by half of it.
	ApartNS int64 `json:"apart_ns"`
	// MaxErrorUS is the kernel's bound for the wall clock's error, as whoever sets the
	// clock (chrony, ntpd) told it; it means something only if Synced.
	MaxErrorUS int64 `json:"max_error_us"`
	// Synced says that the kernel believes its wall clock to be kept right. It is
	// false where the kernel cannot be asked.
	Synced bool `json:"synced"`
}

// readTries is how often the two clocks are read: a process that is interrupted in
// between would read them far apart.
const readTries = 5

// ReadClock reads the clocks of this host.
func ReadClock() ClockReading {
	var best ClockReading
	for i := range readTries {
		before := clock.Mono()
		wall := clock.System().Now().UnixNano()
		apart := clock.Mono() - before
		if i == 0 || apart < best.ApartNS {
			best = ClockReading{MonoNS: before + apart/2, RealNS: wall, ApartNS: apart}
		}
	}
	best.MaxErrorUS, best.Synced = kernelClock()
	return best
}

// Offset is what to add to a time of another host's clock.Mono to get one of this
// process's, and how far that may be off, either way.
type Offset struct{ Offset, Error time.Duration }

// meets says whether some offset is within both bounds.
func (o Offset) meets(other Offset) bool {
	return (o.Offset - other.Offset).Abs() <= o.Error+other.Error
}

// ClockEstimate is how an agent's clock lies to this process's. The embedded Offset
// is the one to use: that with the smaller error, or that of the round trips if the
// two contradict each other, because no clock has to be believed for it.
type ClockEstimate struct {
	Offset
	RoundTrip Offset  // half of the fastest round trip may be off
	Real      *Offset // through the wall clocks; nil unless both are synced
	Reading   ClockReading
}

// Contradictory says that no offset is within both bounds: a wall clock is further
// off than its kernel believes.
func (e ClockEstimate) Contradictory() bool { return e.Real != nil && !e.RoundTrip.meets(*e.Real) }

// estimate joins what the fastest round trip and the wall clocks say.
func estimate(trip Offset, local, remote ClockReading) ClockEstimate {
	e := ClockEstimate{Offset: trip, RoundTrip: trip, Reading: remote}
	if !local.Synced || !remote.Synced {
		return e
	}
	e.Real = &Offset{
		Offset: time.Duration((local.MonoNS - local.RealNS) - (remote.MonoNS - remote.RealNS)),
		Error: time.Duration(local.MaxErrorUS+remote.MaxErrorUS)*time.Microsecond +
			time.Duration(local.ApartNS+remote.ApartNS+1)/2,
	}
	if !e.Contradictory() && e.Real.Error < trip.Error {
		e.Offset = *e.Real
	}
	return e
}

// Clock asks the agent to read its host's clocks.
func (c *Client) Clock(ctx context.Context) (ClockReading, error) {
	var r ClockReading
	err := c.Call(ctx, http.MethodGet, "/v1/clock", nil, &r)
	return r, err
}

// ClockOffset estimates how the agent's clock.Mono lies to this process's, by so
// many round trips and, where both hosts keep their wall clocks right, by these.
func (c *Client) ClockOffset(ctx context.Context, roundTrips int) (ClockEstimate, error) {
	var best Offset
	var remote ClockReading
	for i := range max(roundTrips, 1) {
		sent := clock.Mono()
		answer, err := c.Clock(ctx)
		if err != nil {
			return ClockEstimate{}, err
		}
		half := time.Duration(clock.Mono()-sent+1) / 2
		if i == 0 || half < best.Error {
			best, remote = Offset{time.Duration(sent-answer.MonoNS) + half, half}, answer
		}
	}
	return estimate(best, ReadClock(), remote), nil
}
