package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"locklab/internal/httpapi"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/nodes/worker"
	"locklab/workloads/history"
)

// errSeatGone says that a room was ordered, and others took all its seats first.
var errSeatGone = errors.New("all seats of the new room are taken")

// listed is what a look at one worker showed.
type listed struct {
	remote  *remote
	listing worker.Listing
	err     error
}

// guarded finds a seat while holding the lock: it looks at the workers themselves
// again, since what this master knows may be old, and only if none of their rooms
// has a seat does it order a new one. A worker that does not answer although its feed
// still speaks is busy: it is asked again, because to order without its word would
// overlook its rooms. Only what seems to be out of reach is passed over.
func (a *attempt) guarded(ctx context.Context, h *hold) (match Match, err error) {
	var (
		began       int64
		seen        []listed
		unreachable []string
	)
	for again := true; again; again = slices.ContainsFunc(unreachable, a.speaks) {
		var ok bool
		began = clock.Mono()
		seen = a.look(ctx)
		match, ok, unreachable = a.seatInListed(ctx, seen)
		if ok {
			h.release(ctx)
			return match, nil
		}
		if err := ctx.Err(); err != nil {
			h.release(ctx)
			return Match{}, fmt.Errorf("look at the workers: %w", err)
		}
	}
	a.dwell(ctx, h)
	at, room, err := a.order(ctx, h, seen, unreachable, began)
	if err != nil {
		h.release(ctx)
		return Match{}, err
	}
	p := a.directory.adopt(at.remote, at.listing.Incarnation, room)
	h.release(ctx)
	match, ok := a.take(ctx, p)
	switch {
	case ok:
		match.Created = true
		return match, nil
	case ctx.Err() != nil:
		return Match{}, fmt.Errorf("sit in the new room: %w", ctx.Err())
	default:
		return Match{}, errSeatGone
	}
}

// dwell holds the lock for as long as the settings want.
func (a *attempt) dwell(ctx context.Context, h *hold) {
	if a.settings.Hold <= 0 {
		return
	}
	timer := clock.System().NewTimer(a.settings.Hold)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-h.lease.Lost():
	case <-ctx.Done():
	}
}

// speaks says whether the worker of that name is heard of.
func (a *attempt) speaks(name string) bool {
	i := slices.IndexFunc(a.remotes, func(r *remote) bool { return r.name == name })
	return i >= 0 && !a.directory.suspect(a.remotes[i])
}

// look asks all workers at the same time what rooms of the group they have.
func (a *attempt) look(ctx context.Context) []listed {
	seen := make([]listed, len(a.remotes))
	var wg sync.WaitGroup
	for i, r := range a.remotes {
		wg.Go(func() {
			timeout := a.settings.LookTimeout
			if a.directory.suspect(r) {
				timeout = a.settings.SuspectLookTimeout
			}
			lookCtx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			listing, err := r.look(lookCtx, a.group)
			seen[i] = listed{remote: r, listing: listing, err: err}
			if err == nil {
				a.directory.learn(r, listing)
			}
		})
	}
	wg.Wait()
	return seen
}

// seatInListed asks for a seat in every room that was seen with one, most seats
// first. What this master believes to be taken is asked for all the same: under
// the lock only the worker's word counts. It names the workers whose rooms may have
// been missed, because they did not answer.
func (a *attempt) seatInListed(ctx context.Context, seen []listed) (match Match, ok bool, unreachable []string) {
	type candidate struct {
		remote *remote
		room   worker.Room
	}
	var candidates []candidate
	for _, s := range seen {
		if s.err != nil {
			unreachable = append(unreachable, s.remote.name)
			continue
		}
		for _, room := range s.listing.Rooms {
			if room.Free > 0 {
				candidates = append(candidates, candidate{s.remote, room})
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(b.room.Free, a.room.Free) })
	for _, c := range candidates {
		if ctx.Err() != nil {
			break
		}
		room, err := a.ask(ctx, c.remote, c.room.Room)
		if err == nil {
			return found(*room), true, unreachable
		}
		if httpapi.KindOf(err) == "" && !slices.Contains(unreachable, c.remote.name) {
			unreachable = append(unreachable, c.remote.name)
		}
	}
	return Match{}, false, unreachable
}

// order has a room made by the worker with the fewest rooms. A worker that surely
// did not make it is passed over; after an order whose outcome is unknown no other
// worker is asked, or there might be two rooms.
func (a *attempt) order(ctx context.Context, h *hold, seen []listed, unreachable []string, began int64) (listed, worker.Room, error) {
	last := errNoWorker
	for _, s := range a.rank(seen, unreachable) {
		if h.lost() {
			return listed{}, worker.Room{}, errLost
		}
		if s.listing.Live >= s.listing.RoomsMax {
			last = errCapacity
			continue
		}
		req := worker.OrderRequest{Group: a.group, Order: a.newID("o"), By: a.settings.Name}
		a.locker.points.Pass(history.PointGranted, a.group)
		// The client's leaving must not turn an order into an unknown one.
		orderCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.settings.OrderTimeout)
		sent := clock.Mono()
		room, err := s.remote.order(orderCtx, req)
		cancel()
		outcome := effect(err)
		event := h.event(history.KindOrder)
		event.FromNS = began
		event.SentNS = sent
		event.Worker = s.remote.name
		event.Order = req.Order
		event.Room = room.Room
		event.Outcome = string(outcome)
		event.Error = kindOf(err)
		event.Unreachable = unreachable
		a.recorder.Record(event)
		switch {
		case outcome == locks.OutcomeOK:
			return s, room, nil
		case outcome == locks.OutcomeUnknown:
			a.unknown = true
			a.log.Debug("order unknown", slog.String("worker", s.remote.name), slog.Any("error", err))
			return listed{}, worker.Room{}, fmt.Errorf("order a room: %w: %w", locks.ErrUnknown, err)
		case httpapi.KindOf(err) == worker.KindCapacity:
			last = errCapacity
		}
	}
	return listed{}, worker.Room{}, last
}

// rank puts the workers that can be reached in the order in which to ask them: the
// fewest rooms first, then those of the own zone, then by lot.
func (a *attempt) rank(seen []listed, unreachable []string) []listed {
	ranked := make([]listed, 0, len(seen))
	for _, s := range seen {
		if s.err == nil && !slices.Contains(unreachable, s.remote.name) {
			ranked = append(ranked, s)
		}
	}
	a.shuffle(len(ranked), func(i, j int) { ranked[i], ranked[j] = ranked[j], ranked[i] })
	otherZone := func(s listed) int {
		if s.remote.zone == a.settings.Zone {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(ranked, func(x, y listed) int {
		return cmp.Or(cmp.Compare(x.listing.Live, y.listing.Live), cmp.Compare(otherZone(x), otherZone(y)))
	})
	return ranked
}
