package master

import (
	"context"
	"errors"
	"fmt"

	"locklab/internal/httpapi"
	"locklab/internal/tracing"
	"locklab/locks"
	"locklab/nodes/worker"
)

// MatchRequest is the body of POST /v1/match.
type MatchRequest struct {
	Player string `json:"player"`
	Group  string `json:"group"`
}

// Match is a player's seat.
type Match struct {
	Room   string       `json:"room"`
	Worker string       `json:"worker"`
	State  worker.State `json:"state"`
	// Created says that the room was ordered for this very request.
	Created bool `json:"created"`
}

// Reasons for a match to fail besides those of the lock (see locks.ErrorKind).
var (
	errLost     = errors.New("the lock was lost before a room was ordered")
	errNoWorker = errors.New("no worker can be reached")
	errCapacity = errors.New("no reachable worker has space for a room")
	errStopping = errors.New("the master is going down")
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
		switch {
		case errors.Is(err, errLost), errors.Is(err, errSeatGone):
			continue // somebody else was faster: begin again, as long as there is time
		default:
			return found, err
		}
	}
}

// known asks for a seat in the rooms that this master knows of, most seats first.
func (a *attempt) known(ctx context.Context) (Match, bool) {
	ctx, span := a.tracer.Begin(ctx, "find seat", tracing.Inside)
	defer func() { span.End(nil) }()
	for ctx.Err() == nil {
		p, ok := a.directory.propose(a.group, a.tried)
		if !ok {
			return Match{}, false
		}
		if found, ok := a.take(ctx, p); ok {
			return found, true
		}
	}
	return Match{}, false
}

// take asks for the proposed seat.
func (a *attempt) take(ctx context.Context, p proposal) (Match, bool) {
	room, err := a.ask(ctx, p.remote, p.room)
	a.directory.settle(p, room, httpapi.KindOf(err) == worker.KindNotFound)
	if err != nil {
		return Match{}, false
	}
	return found(*room), true
}

func found(room worker.Room) Match {
	return Match{Room: room.Room, Worker: room.Worker, State: room.State}
}

// ask asks one worker for a seat and keeps the books on failures.
func (a *attempt) ask(ctx context.Context, r *remote, id string) (*worker.Room, error) {
	seatCtx, cancel := context.WithTimeout(ctx, a.settings.SeatTimeout)
	defer cancel()
	room, err := r.seat(seatCtx, id, a.player)
	if err == nil {
		return room, nil
	}
	if effect(err) == locks.OutcomeUnknown {
		a.unknown = true
	}
	if httpapi.KindOf(err) == "" {
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
	defer callOff(nil) // the acquisition is over, or nobody wants it any more
	for {
		p, line := a.directory.proposeOrWait(a.group, a.tried)
		if line == nil {
			if found, ok := a.take(ctx, p); ok {
				callOff(errSeated)
				a.discard(ctx, answered)
				return nil, found, nil
			}
			if ctx.Err() == nil {
				continue
			}
			line = &waiter{} // nobody wakes it: the acquisition ends with ctx
		}
		select {
		case g := <-answered:
			a.directory.leave(a.group, line)
			if g.err != nil {
				return nil, Match{}, fmt.Errorf("acquire the lock: %w", g.err)
			}
			return g.hold, Match{}, nil
		case <-line.wake:
		}
	}
}
