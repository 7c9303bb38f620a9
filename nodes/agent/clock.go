package agent

import (
	"context"
	"net/http"
	"time"

	"locklab/locks/clock"
)

// Offset is what to add to a time of another host's clock.Mono to get one of this
// process's, and how far that may be off, either way.
type Offset struct{ Add, Error time.Duration }

// ClockOffset estimates how the agent's clock.Mono lies to this process's, by so many round trips: half of
// the fastest may be off.
func (c *Client) ClockOffset(ctx context.Context, roundTrips int) (best Offset, err error) {
	for i := range roundTrips {
		var at int64
		sent := clock.Mono()
		if err := c.Call(ctx, http.MethodGet, "/v1/clock", nil, &at); err != nil {
			return Offset{}, err
		}
		half := time.Duration(clock.Mono()-sent+1) / 2
		if i == 0 || half < best.Error {
			best = Offset{time.Duration(sent-at) + half, half}
		}
	}
	return best, nil
}
