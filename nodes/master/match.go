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

// MatchRequest is the body of POST /v1/match.
type MatchRequest struct {
	Player string `json:"player"`
	Group  string `json:"group"`
}

// Match is the room in which a player has a seat.
type Match struct {
	worker.Room
	// Created says that the room was ordered for this very request.
	Created bool `json:"created"`
}

// Reasons for a match to fail besides those of the lock (see locks.ErrorKind).
var (
	errLost           = errors.New("the lock was lost before a room was ordered")
	errSeatGone       = errors.New("all seats of the new room are taken")
	errNoWorker error = &httpapi.Error{Kind: "unavailable", Message: "no worker can be reached"}
	errCapacity error = &httpapi.Error{Kind: worker.KindCapacity, Message: "no reachable worker has space for a room"}
	errStopping error = &httpapi.Error{Kind: "stopping", Message: "the master is going down"}
)

// attempt is one match request under way.
type attempt struct {
	*Master
	player  string
	group   string
	tried   []string // rooms that did not answer
	unknown bool     // a request whose outcome is unknown may have had its effect
}

// match finds a seat: in a room that is known, or under the lock.
func (a *attempt) match(ctx context.Context) (Match, error) {
	for {
		if found, ok := a.known(ctx); ok {
			return found, nil
		}
		if err := ctx.Err(); err != nil {
			return Match{}, fmt.Errorf("find a seat: %w", err)
		}
		h, found, err := a.await(ctx)
		if err != nil {
			if found, ok := a.known(ctx); ok { // it may have turned up during the wait
				return found, nil
			}
			return Match{}, err
		}
		if h == nil {
			return found, nil
		}
		found, err = a.guarded(ctx, h)
		if errors.Is(err, errLost) || errors.Is(err, errSeatGone) {
			continue // another one was faster: begin again, as long as there is time
		}
		return found, err
	}
}

// known asks for a seat in the rooms that this master knows of, most seats first.
func (a *attempt) known(ctx context.Context) (Match, bool) {
	for ctx.Err() == nil {
		k, _ := a.directory.propose(a.group, a.tried)
		if k == nil {
			break
		}
		if found, ok := a.take(ctx, k); ok {
			return found, true
		}
	}
	return Match{}, false
}

// take asks for the proposed seat.
func (a *attempt) take(ctx context.Context, k *knownRoom) (Match, bool) {
	room, err := a.ask(ctx, k.remote, k.id)
	a.directory.settle(k, room, httpapi.KindOf(err) != "")
	return Match{Room: room}, err == nil
}

// ask asks one worker for a seat and keeps the books on failures.
func (a *attempt) ask(ctx context.Context, r *remote, id string) (worker.Room, error) {
	ctx, cancel := context.WithTimeout(ctx, a.settings.SeatTimeout)
	defer cancel()
	room, err := r.seat(ctx, id, a.player)
	if effect(err) == locks.OutcomeUnknown {
		a.unknown = true
	}
	if err != nil && httpapi.KindOf(err) == "" {
		a.tried = append(a.tried, id)
	}
	return room, err
}

// await waits for the lock of the group. If a room with a seat turns up meanwhile
// it takes the seat, gives the wait up and returns no hold.
func (a *attempt) await(ctx context.Context) (*hold, Match, error) {
	acquireCtx, callOff := context.WithCancelCause(ctx)
	acquireCtx, cancel := context.WithTimeout(acquireCtx, a.settings.AcquireTimeout+a.settings.Hold)
	answered := a.acquire(acquireCtx, a.player, a.group)
	defer cancel()
	defer callOff(nil) // the acquisition is over, or its answer is not wanted any more
	for {
		k, news := a.directory.propose(a.group, a.tried)
		if k != nil {
			if found, ok := a.take(ctx, k); ok {
				callOff(errSeated)
				a.background.Go(func() {
					if h := <-answered; h.err == nil {
						h.release(ctx)
					}
				})
				return nil, found, nil
			}
			if ctx.Err() == nil {
				continue
			} // without news the acquisition is waited for, which ends with ctx
		}
		select {
		case h := <-answered:
			if h.err != nil {
				return nil, Match{}, fmt.Errorf("acquire the lock: %w", h.err)
			}
			return h, Match{}, nil
		case <-news:
		}
	}
}

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
	var began int64
	var seen []listed
	var unreachable []*remote
	speaks := func(r *remote) bool { return !a.directory.suspect(r) }
	for again := true; again; again = slices.ContainsFunc(unreachable, speaks) {
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
	if a.settings.Hold > 0 {
		ctx, cancel := context.WithTimeout(ctx, a.settings.Hold)
		select {
		case <-h.lease.Lost():
		case <-ctx.Done():
		}
		cancel()
	}
	at, room, err := a.order(ctx, h, seen, unreachable, began)
	if err != nil {
		h.release(ctx)
		return Match{}, err
	}
	k := a.directory.adopt(at.remote, at.listing.Incarnation, room)
	h.release(ctx)
	match, ok := a.take(ctx, k)
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
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			listing, err := r.look(ctx, a.group)
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
func (a *attempt) seatInListed(ctx context.Context, seen []listed) (match Match, ok bool, unreachable []*remote) {
	type candidate struct {
		remote *remote
		room   worker.Room
	}
	var candidates []candidate
	for _, s := range seen {
		if s.err != nil {
			unreachable = append(unreachable, s.remote)
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
		room, err := a.ask(ctx, c.remote, c.room.ID)
		if err == nil {
			return Match{Room: room}, true, unreachable
		}
		if httpapi.KindOf(err) == "" && !slices.Contains(unreachable, c.remote) {
			unreachable = append(unreachable, c.remote)
		}
	}
	return Match{}, false, unreachable
}

// order has a room made by the worker with the fewest rooms. A worker that surely
// did not make it is passed over; after an order whose outcome is unknown no other
// worker is asked, or there might be two rooms.
func (a *attempt) order(
	ctx context.Context, h *hold, seen []listed, unreachable []*remote, began int64,
) (listed, worker.Room, error) {
	last := errNoWorker
	for _, s := range a.rank(seen, unreachable) {
		if locks.Over(h.lease) {
			return listed{}, worker.Room{}, errLost
		}
		if s.listing.Live >= s.listing.RoomsMax {
			last = errCapacity
			continue
		}
		event := h.event(history.KindOrder)
		event.FromNS, event.Worker, event.Order = began, s.remote.Name, a.newID("o")
		for _, r := range unreachable {
			event.Unreachable = append(event.Unreachable, r.Name)
		}
		a.Locker.points.Pass(history.PointGranted, a.group)
		// The client's leaving must not turn an order into an unknown one.
		orderCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.settings.OrderTimeout)
		event.SentNS = clock.Mono()
		room, err := s.remote.order(orderCtx, worker.OrderRequest{Group: a.group, Order: event.Order, By: a.settings.Name})
		cancel()
		outcome := effect(err)
		event.AtNS, event.Room, event.Outcome, event.Error = clock.Mono(), room.ID, string(outcome), kindOf(err)
		a.Recorder.Record(event)
		switch {
		case outcome == locks.OutcomeOK:
			return s, room, nil
		case outcome == locks.OutcomeUnknown:
			a.unknown = true
			a.Log.Debug("order unknown", slog.String("worker", s.remote.Name), slog.Any("error", err))
			return listed{}, worker.Room{}, fmt.Errorf("order a room: %w: %w", locks.ErrUnknown, err)
		case httpapi.KindOf(err) == worker.KindCapacity:
			last = errCapacity
		}
	}
	return listed{}, worker.Room{}, last
}

// rank puts the workers that can be reached in the order in which to ask them: the
// fewest rooms first, then those of the own zone, then by lot.
func (a *attempt) rank(seen []listed, unreachable []*remote) []listed {
	ranked := slices.DeleteFunc(seen, func(s listed) bool { return slices.Contains(unreachable, s.remote) })
	lot := a.Seed.Child(a.settings.Name + a.player).Rand()
	lot.Shuffle(len(ranked), func(i, j int) { ranked[i], ranked[j] = ranked[j], ranked[i] })
	otherZone := func(s listed) int {
		if s.remote.Zone == a.settings.Zone {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(ranked, func(x, y listed) int {
		return cmp.Or(cmp.Compare(x.listing.Live, y.listing.Live), cmp.Compare(otherZone(x), otherZone(y)))
	})
	return ranked
}
