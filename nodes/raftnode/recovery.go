package raftnode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"locklab/locks/clock"
)

// recovery keeps a server that has lost its data from doing harm: its vote may
// elect a leader that lacks what it had acknowledged before, and its
// acknowledgement may let a leader of the past commit. A server with an empty log
// therefore neither votes nor stores entries until it knows more:
//
//   - a majority, itself counted, has never seen an election: the service is new;
//   - otherwise it needs the terms of so many others that every election that it
//     may have forgotten is known to one of them (of both others, of three). It
//     stores entries of leaders of at least the highest of those terms, and votes
//     again once it has applied an entry of such a leader's own term, which comes
//     after everything that was committed before.
//
// This holds as long as no majority loses its data at once. It asks by the raft
// library's pre-vote, which changes nothing at who is asked; it refuses to vote by
// failing to store the vote.
//
// Until then it takes no part in elections at all, neither as a candidate nor as one who
// hears of others (abstention). That would only raise terms, and a server of a new service
// that hears of a raised term before it has decided must take the service for an old one:
// if that happened to a majority, all would wait for a leader that nobody elects.
type recovery struct {
	raft.StableStore

	mu      sync.Mutex
	active  bool
	known   bool   // floor is
	floor   uint64 // the lowest term of a leader that may be followed
	current uint64 // the term this server is in
}

// What the raft library calls the things that it stores, and ours.
const (
	keyCurrentTerm  = "CurrentTerm"
	keyLastVoteTerm = "LastVoteTerm"
	keyRecovering   = "LocklabRecovering"
)

var errRecovering = errors.New("raftnode: this server has lost its data and is not up to date yet")

// newRecovery looks whether the server must recover. It is called before anything
// is stored.
func newRecovery(stable raft.StableStore, empty bool) (*recovery, error) {
	r := &recovery{StableStore: stable}
	if empty {
		if err := stable.SetUint64([]byte(keyRecovering), 1); err != nil {
			return nil, fmt.Errorf("note that the log is empty: %w", err)
		}
	}
	// An error says that there is no such key; the stores differ in which one.
	marked, err := stable.GetUint64([]byte(keyRecovering))
	r.active = err == nil && marked != 0
	if term, err := stable.GetUint64([]byte(keyCurrentTerm)); err == nil {
		r.current = term
	}
	return r, nil
}

// SetUint64 implements raft.StableStore.
func (r *recovery) SetUint64(key []byte, value uint64) error {
	r.mu.Lock()
	switch string(key) {
	case keyCurrentTerm:
		r.current = value
	case keyLastVoteTerm:
		if r.active {
			r.mu.Unlock()
			return errRecovering
		}
	}
	r.mu.Unlock()
	return r.StableStore.SetUint64(key, value)
}

// admit says whether entries may be stored now.
func (r *recovery) admit() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active && (!r.known || r.current < r.floor) {
		return errRecovering
	}
	return nil
}

// end lets the server vote again.
func (r *recovery) end() error {
	if err := r.StableStore.SetUint64([]byte(keyRecovering), 0); err != nil {
		return fmt.Errorf("note that the server is up to date: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active = false
	return nil
}

func (r *recovery) isActive() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active
}

// guardedLog stores only what the recovery admits.
type guardedLog struct {
	raft.LogStore
	recovery *recovery
}

var _ raft.MonotonicLogStore = guardedLog{}

// StoreLogs implements raft.LogStore.
func (g guardedLog) StoreLogs(logs []*raft.Log) error {
	if err := g.recovery.admit(); err != nil {
		return err
	}
	return g.LogStore.StoreLogs(logs)
}

// StoreLog implements raft.LogStore.
func (g guardedLog) StoreLog(l *raft.Log) error { return g.StoreLogs([]*raft.Log{l}) }

// IsMonotonic implements raft.MonotonicLogStore.
func (g guardedLog) IsMonotonic() bool {
	m, ok := g.LogStore.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

const askEvery = 20 * time.Millisecond

// catchUp runs until the server may vote, or ctx ends.
func (s *Server) catchUp(ctx context.Context, peers []Peer) {
	terms := map[string]uint64{}
	for ; s.recovery.isActive() && ctx.Err() == nil; _ = clock.Sleep(ctx, askEvery) {
		if !s.recovery.isKnown() {
			s.askTerms(peers, terms)
			if s.recovery.decide(terms, len(peers)+1) {
				s.log.Info("the service is new")
				s.endRecovery()
			}
			continue
		}
		if s.caughtUp() {
			s.log.Info("caught up after an empty start", "applied", s.raft.AppliedIndex())
			s.endRecovery()
		}
	}
}

func (s *Server) endRecovery() {
	if err := s.recovery.end(); err != nil {
		s.log.Warn("cannot end the recovery", "error", err)
	}
}

// transport is what the raft library uses of one.
type transport interface {
	raft.Transport
	raft.WithPreVote
	raft.WithClose
}

// abstention keeps a server out of elections while it recovers: candidates are refused
// before the library hears of their terms, and the server's own candidacies fail at the
// pre-vote, before they raise its term.
type abstention struct {
	transport
	recovery *recovery
	rpcs     chan raft.RPC
}

// RequestPreVote implements raft.WithPreVote.
func (a *abstention) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	if a.recovery.isActive() {
		return errRecovering
	}
	return a.transport.RequestPreVote(id, target, args, resp)
}

// Consumer implements raft.Transport.
func (a *abstention) Consumer() <-chan raft.RPC { return a.rpcs }

// filter runs until stop is closed.
func (a *abstention) filter(stop <-chan struct{}) {
	for {
		select {
		case rpc := <-a.transport.Consumer():
			if a.refuses(rpc) {
				rpc.Respond(nil, errRecovering)
				continue
			}
			select {
			case a.rpcs <- rpc:
			case <-stop:
				return
			}
		case <-stop:
			return
		}
	}
}

func (a *abstention) refuses(rpc raft.RPC) bool {
	if !a.recovery.isActive() {
		return false
	}
	switch request := rpc.Command.(type) {
	case *raft.RequestVoteRequest:
		return true
	case *raft.RequestPreVoteRequest:
		return request.Term != 0 // otherwise a recovering server asks for the term, see askTerms
	}
	return false
}

// askTerms asks the peers that have not answered yet, all at once.
func (s *Server) askTerms(peers []Peer, terms map[string]uint64) {
	missing := slices.DeleteFunc(slices.Clone(peers), func(p Peer) bool {
		_, answered := terms[p.Name]
		return answered
	})
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, p := range missing {
		asked.Go(func() {
			request := raft.RequestPreVoteRequest{RPCHeader: raft.RPCHeader{
				ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(s.name), Addr: []byte(s.name),
			}}
			var response raft.RequestPreVoteResponse
			err := s.trans.RequestPreVote(raft.ServerID(p.Name), raft.ServerAddress(p.Name), &request, &response)
			if err != nil {
				return // it is asked again
			}
			mu.Lock()
			defer mu.Unlock()
			terms[p.Name] = response.Term
		})
	}
	asked.Wait()
}

func (r *recovery) isKnown() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known
}

// bootstrapTerm is the term in which the membership is written; elections come
// after it.
const bootstrapTerm = 1

// decide draws conclusions from the terms of other servers. It returns true if
// the service is new, and otherwise sets the floor when it can.
func (r *recovery) decide(terms map[string]uint64, members int) (isNew bool) {
	highest := uint64(0)
	for _, term := range terms {
		highest = max(highest, term)
	}
	majority := members/2 + 1
	if highest <= bootstrapTerm {
		return len(terms)+1 >= majority
	}
	if len(terms) >= members-majority+1 {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.known, r.floor = true, highest
	}
	return false
}

// caughtUp says that the server has applied an entry of the term of a leader that
// may be followed.
func (s *Server) caughtUp() bool {
	s.recovery.mu.Lock()
	term, floor := s.recovery.current, s.recovery.floor
	s.recovery.mu.Unlock()
	applied := s.raft.AppliedIndex()
	if term < floor || applied == 0 {
		return false
	}
	var last raft.Log
	if err := s.stores.log.GetLog(applied, &last); err != nil {
		return false // in a snapshot, or cut off: the next entry will tell
	}
	return last.Term == term
}
