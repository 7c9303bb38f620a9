package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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

// The errors of a match, besides those of the lock (see locks.ErrorKind).
var (
	errLost           = errors.New("the lock was lost before a room was ordered")
	errSeatGone       = errors.New("all seats of the new room are taken")
	errNoWorker error = &httpapi.Error{Kind: "unavailable", Message: "no worker can be reached"}
	errCapacity error = &httpapi.Error{Kind: worker.KindCapacity, Message: "no reachable worker has space for a room"}
	errStopping error = &httpapi.Error{Kind: "stopping", Message: "the master is going down"}
)

// attempt is one pending match request.
type attempt struct {
	*Master
	player  string
	group   string
	tried   []string // rooms that did not answer
	unknown bool     // a request whose outcome is unknown may have had its effect
}

// match finds a seat: in a known room, or under the lock.
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
			if found, ok := a.known(ctx); ok { // a room may have appeared during the wait
				return found, nil
			}
			return Match{}, err
		}
		if h == nil {
			return found, nil
		}
		found, err = a.guarded(ctx, h)
		if errors.Is(err, errLost) || errors.Is(err, errSeatGone) {
			continue // another player was faster: try again
		}
		return found, err
	}
}

// known asks for a seat in the rooms that this master knows, most seats first.
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

// ask asks one worker for a seat and records failures in the attempt.
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

// await waits for the lock of the group. If a room with a seat appears meanwhile, it takes
// the seat, cancels the wait and returns no hold.
func (a *attempt) await(ctx context.Context) (*hold, Match, error) {
	acquireCtx, callOff := context.WithCancelCause(ctx)
	acquireCtx, cancel := context.WithTimeout(acquireCtx, a.settings.AcquireTimeout+a.settings.Hold)
	answered := a.acquire(acquireCtx, a.player, a.group)
	defer cancel()
	defer callOff(nil) // the acquisition is over, or no longer needed
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
			} // otherwise wait for the acquisition, which ends with ctx
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

// listed is one worker's answer to look.
type listed struct {
	remote  *remote
	listing worker.Listing
	err     error
}

// guarded finds a seat while holding the lock: it asks the workers themselves, since this
// master's knowledge may be old, and orders a new room only if none of theirs has a seat. It
// asks a worker again that does not answer although its feed still does: the worker is busy,
// and may have rooms. It skips a worker only if the feed is silent, too.
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

// look asks all workers concurrently for their rooms of the group.
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

// seatInListed asks for a seat in the listed rooms that have one, most seats first. It also
// asks for seats that this master believes to be taken: under the lock only the worker's
// answer counts. unreachable are the workers that did not answer, whose rooms may be missing.
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

// order orders a room from the worker with the fewest rooms. If that surely failed, it tries
// the next worker. After an unknown outcome it asks no other worker: there might be two rooms.
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
		// The end of the client's request must not make the outcome of the order unknown.
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

// rank returns the reachable workers in the order in which to ask them: by the number of
// rooms, then the own zone first, then at random.
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

func (m *Master) handleMatch(r *http.Request, req MatchRequest) (any, error) {
	if err := errors.Join(worker.CheckName("player", req.Player), worker.CheckName("group", req.Group)); err != nil {
		return nil, err
	}
	refuse := func(kind, why string, outcome locks.Outcome) error {
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Kind: kind, Message: why, Outcome: string(outcome)}
	}
	if httpapi.Left(r) { // a seat for a player that has left would be wasted
		return nil, refuse("canceled", "the player has left", locks.OutcomeFailed)
	}
	match, outcome, err := m.Match(r.Context(), req)
	if err != nil {
		// A new refusal: the status of a worker's refusal does not fit this request.
		return nil, refuse(kindOf(err), err.Error(), outcome)
	}
	return match, nil
}

// Match finds a seat for the player. The outcome is ok with a nil error, unknown if a seat
// may be taken or a room ordered in spite of the error, and otherwise failed.
func (m *Master) Match(ctx context.Context, req MatchRequest) (match Match, outcome locks.Outcome, err error) {
	began := clock.Mono()
	defer func() { m.WithLabelValues(string(outcome)).Observe(seconds(clock.Mono() - began)) }()
	if !m.open.TryRLock() {
		return Match{}, locks.OutcomeFailed, errStopping
	}
	defer m.open.RUnlock()
	ctx, cancel := context.WithTimeout(ctx, m.settings.MatchTimeout+2*m.settings.Hold)
	defer cancel()
	a := &attempt{Master: m, player: req.Player, group: req.Group}
	if match, err = a.match(ctx); err == nil {
		return match, locks.OutcomeOK, nil
	}
	if a.unknown {
		return Match{}, locks.OutcomeUnknown, err
	}
	return Match{}, locks.OutcomeFailed, err
}

// kindOf names an error in one word: the kind of a worker's refusal, "unavailable" if the
// request was not sent, and otherwise that of locks.ErrorKind.
func kindOf(err error) string {
	if kind := httpapi.KindOf(err); kind != "" {
		return kind
	}
	if errors.Is(err, httpapi.ErrNotSent) {
		return "unavailable"
	}
	return locks.ErrorKind(err)
}
