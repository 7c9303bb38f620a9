package raftnode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"locklab/locks/clock"
)

// A service is founded once: by the first processes of its servers (Config.Founds). A server
// that has no data and does not found has lost them. It may have voted, and acknowledged
// entries, in terms that it has forgotten; it must neither vote twice in one of them, nor help
// an old leader to commit, nor elect a leader that lacks what it had acknowledged. So it
//
//  1. asks every other server for its term, and then every one again (inquiry);
//  2. begins in a term above all of those: it has promised nothing there. A leader that hears
//     of that term steps down, and the others elect one;
//  3. follows, and votes again once it has applied an entry of that term or a later one: the
//     entry's leader was elected without this server, and has all that was committed before.
//
// Every other one, because the candidate of an election under way may be the only one that
// knows of its term. Twice, because a candidate may lose its data too before it is asked: it is
// none any more when the second round begins, and if it was elected before, a majority knows.
//
// This holds as long as no majority is without its data at once. Such a majority waits for
// ever, and so does a server that never hears from all others.

// What the raft library calls the things that it stores, and ours.
const (
	keyCurrentTerm  = "CurrentTerm"
	keyLastVoteTerm = "LastVoteTerm"
	keyRecovering   = "LocklabRecovering" // 1 until the server votes again
)

var errRecovering = errors.New("raftnode: this server has lost its data and is not up to date yet")

// inquiry is what a server without data has heard of the terms of others.
type inquiry struct {
	peers   int    // how many there are
	rounds  int    // in which every one has answered
	heard   uint64 // which ones have answered in the round that is under way: bit by bit
	highest uint64 // of the terms
}

func (q *inquiry) missing(peer int) bool { return q.heard&(1<<peer) == 0 }

func (q *inquiry) hear(peer int, term uint64) {
	q.heard |= 1 << peer
	q.highest = max(q.highest, term)
	if q.heard == 1<<q.peers-1 {
		q.rounds, q.heard = q.rounds+1, 0
	}
}

// begin is the first term in which the server has surely promised nothing; false if that is not
// known yet.
func (q *inquiry) begin() (term uint64, known bool) {
	return q.highest + 1, q.peers == 0 || q.rounds >= 2
}

// votes refuses to vote while the server recovers: the raft library grants no vote that it
// could not store, its own neither.
type votes struct {
	raft.StableStore
	recovering atomic.Bool
}

// openVotes looks whether the server recovers.
func openVotes(stable raft.StableStore) *votes {
	v := &votes{StableStore: stable}
	v.recovering.Store(v.get(keyRecovering) != 0)
	return v
}

// get is zero for what is not stored. The stores differ in the error that says so.
func (v *votes) get(key string) uint64 {
	value, err := v.GetUint64([]byte(key))
	if err != nil {
		return 0
	}
	return value
}

// SetUint64 implements raft.StableStore.
func (v *votes) SetUint64(key []byte, value uint64) error {
	if string(key) == keyLastVoteTerm && v.recovering.Load() {
		return errRecovering
	}
	return v.StableStore.SetUint64(key, value)
}

// mark notes whether the server recovers.
func (v *votes) mark(recovering bool) error {
	value := uint64(0)
	if recovering {
		value = 1
	}
	if err := v.StableStore.SetUint64([]byte(keyRecovering), value); err != nil {
		return fmt.Errorf("note whether the server recovers: %w", err)
	}
	v.recovering.Store(recovering)
	return nil
}

const askEvery = 20 * time.Millisecond

// forgotten finds out in which term to begin, and stores it. Until then others hear nothing
// of this server but that it knows no term.
func (s *Server) forgotten(ctx context.Context, peers []Peer) (begin uint64, err error) {
	s.log.Warn("this server has no data and does not found the service: it asks all others, and waits for a leader to teach it")
	ctx, done := context.WithCancel(ctx)
	var answering sync.WaitGroup
	answering.Go(func() { s.answerNothing(ctx) })
	defer answering.Wait()
	defer done()

	q := &inquiry{peers: len(peers), highest: s.votes.get(keyCurrentTerm)}
	for {
		begin, known := q.begin()
		if known {
			return begin, s.votes.SetUint64([]byte(keyCurrentTerm), begin)
		}
		rounds := q.rounds
		s.askTerms(peers, q)
		if q.rounds == rounds {
			if err := clock.Sleep(ctx, askEvery); err != nil {
				return 0, err
			}
		}
	}
}

// askTerms asks the peers that have not answered in this round, all at once, by a pre-vote for
// term 0: it changes nothing at the peer.
func (s *Server) askTerms(peers []Peer, q *inquiry) {
	type answer struct {
		peer int
		term uint64
	}
	answers := make(chan answer, len(peers))
	var asked sync.WaitGroup
	for i, p := range peers {
		if !q.missing(i) {
			continue
		}
		asked.Go(func() {
			request := raft.RequestPreVoteRequest{RPCHeader: raft.RPCHeader{
				ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(s.name), Addr: []byte(s.name),
			}}
			var response raft.RequestPreVoteResponse
			if err := s.trans.RequestPreVote(raft.ServerID(p.Name), raft.ServerAddress(p.Name), &request, &response); err == nil {
				answers <- answer{i, response.Term}
			}
		})
	}
	asked.Wait()
	close(answers)
	for a := range answers {
		q.hear(a.peer, a.term)
	}
}

// answerNothing takes the raft library's place until ctx ends. Another server without data may
// ask, too.
func (s *Server) answerNothing(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case rpc := <-s.trans.Consumer():
			if request, ok := rpc.Command.(*raft.RequestPreVoteRequest); ok && request.Term == 0 {
				rpc.Respond(&raft.RequestPreVoteResponse{Term: s.votes.get(keyCurrentTerm)}, nil)
				continue
			}
			if rpc.Reader != nil {
				_, _ = io.Copy(io.Discard, rpc.Reader) // a snapshot, to its end
			}
			rpc.Respond(nil, errRecovering)
		}
	}
}

// catchUp runs until the server may vote, or ctx ends.
func (s *Server) catchUp(ctx context.Context, r *raft.Raft, begin uint64) {
	for !s.caughtUp(r, begin) {
		if clock.Sleep(ctx, askEvery) != nil {
			return
		}
	}
	if err := s.votes.mark(false); err != nil {
		s.log.Warn("cannot end the recovery", "error", err)
		return
	}
	s.log.Info("caught up after an empty start", "applied", r.AppliedIndex())
}

// mayVote says whether a server that began in a term may vote, once it has applied an entry of
// another term.
func mayVote(applied, begin uint64) bool { return applied >= begin }

// caughtUp says whether the last entry that the server has applied lets it vote.
func (s *Server) caughtUp(r *raft.Raft, begin uint64) bool {
	var last raft.Log
	applied := r.AppliedIndex()
	if applied == 0 || s.stores.log.GetLog(applied, &last) != nil {
		return false // in a snapshot: the next entry will tell
	}
	return mayVote(last.Term, begin)
}
