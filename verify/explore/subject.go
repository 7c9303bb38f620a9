package explore

import (
	"context"
	"fmt"

	"locklab/locks/peerlock/peercore"
)

// Subject is an algorithm that can be explored.
type Subject interface {
	// Endless says that unlimited requests have finitely many states, at least as long as
	// nobody gives up: rounds are numbered anew.
	Endless() bool
	// Explore visits every state within the scope. progress, which may be nil, is told
	// how far it is, often. When the context is cancelled it ends with what there is.
	// Errors wrap locks.ErrInvalid if the scope makes no sense.
	Explore(ctx context.Context, sc Scope, progress func(Progress)) (*Result, error)
}

// Of makes an algorithm a subject. describe names a peer's state in traces; without it
// they say whether the peer waits or holds.
func Of[S, M any, P peercore.Core[S, M]](alg peercore.Algorithm[S, M], describe func(P) string) Subject {
	return subject[S, M, P]{alg, describe}
}

type subject[S, M any, P peercore.Core[S, M]] struct {
	alg      peercore.Algorithm[S, M]
	describe func(P) string
}

func (s subject[S, M, P]) Endless() bool {
	sample := s.alg.New(0, peercore.Others(2, 0), false)
	_, numbered := any(P(&sample)).(peercore.Numbered)
	return numbered && s.alg.Renumber != nil
}

func (s subject[S, M, P]) Explore(ctx context.Context, sc Scope, progress func(Progress)) (*Result, error) {
	sc, err := sc.withDefaults()
	if err != nil {
		return nil, err
	}
	search := newSearch(newWorld[S, M, P](s.alg, sc), sc.Deep, progress)
	search.first()
	search.run(ctx)
	if search.result.Ended == Complete && !sc.Deep && sc.Stuck != StuckUnchecked {
		search.findStuck(ctx)
	}
	r := search.finish(s.alg.Spec)
	if r.Ended == Violated {
		if r.Trace, err = search.trace(ctx, search.at, s.describe); err != nil {
			return nil, fmt.Errorf("trace of %q: %w", r.Violation, err)
		}
	}
	return r, nil
}

// finish gathers what the search has seen.
func (s *search[S, M, P]) finish(spec string) *Result {
	r := s.result
	r.Spec, r.Scope, r.Memory = spec, s.scope, s.memory()
	r.Shortened, r.Controls, r.Durable = s.shortened, s.hasControls, s.durable
	if s.timed {
		r.Leases = s.scope.leases()
	}
	return &r
}
