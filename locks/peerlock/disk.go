package peerlock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"locklab/locks"
	"locklab/locks/peerlock/journal"
	"locklab/locks/peerlock/mesh"
	"locklab/locks/peerlock/peercore"
)

// Messages and holds of a resource wait until the journal has written the resource's latest batch:
//
//	Store ─► batch ─► disk ─► stored ─► messages are sent, then claims are told that they hold

// unsaid is a message or a hold that waits for a batch.
type unsaid[S, M any, P peercore.Machine[S, M]] struct {
	batch   uint64
	r       *resource[S, M, P]
	link    *mesh.Link // nil for a hold
	payload []byte
}

// These errors tell the user what to do about a file that is missing, damaged or in use.
var (
	errLost  = errors.New("without its votes this peer could vote twice: put its file back, or found the cluster anew")
	errTwice = errors.New("end the other process of this peer first: a peer is one process")
)

// openState reads the state file, if the algorithm has one, and rewrites it with the latest value of each name.
// The value of the empty name is the round above which all other names start.
func (l *Locker[S, M, P]) openState(cfg journal.Config, founding bool) (err error) {
	if _, durable := any(P(&l.shards[0].idle)).(peercore.Durable); !durable {
		return nil
	}
	if cfg.Path == "" {
		return fmt.Errorf("peerlock: StateFile is empty, want the path of the file that keeps votes: %w", locks.ErrInvalid)
	}
	cfg.Stored, cfg.Failed = l.storedUpTo, l.cannotStore
	if l.unlock, err = journal.Lock(cfg.Path); errors.Is(err, journal.ErrInUse) {
		return fmt.Errorf("peerlock: %w: %w", err, errTwice)
	} else if err != nil {
		return fmt.Errorf("peerlock: %w", err)
	}
	last, err := journal.Read(cfg.Path, cfg.Owner)
	switch {
	case errors.Is(err, fs.ErrNotExist) && founding:
		last = map[string][]byte{"": binary.AppendUvarint(nil, 0)}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, journal.ErrCorrupt):
		return fmt.Errorf("peerlock: %w: %w", err, errLost)
	case err != nil:
		return fmt.Errorf("peerlock: %w", err)
	}
	round, n := binary.Uvarint(last[""])
	if n != len(last[""]) {
		return fmt.Errorf("peerlock: read %s: number %x that names start above: %w", cfg.Path, last[""], journal.ErrCorrupt)
	}
	for i := range l.shards {
		l.shards[i].round = round
	}
	if l.journal, err = journal.Create(cfg, last); err != nil {
		return fmt.Errorf("peerlock: %w", err)
	}
	delete(last, "")
	for _, name := range slices.Sorted(maps.Keys(last)) {
		if err := l.shardOf(name).load(name, last[name]); err != nil {
			return fmt.Errorf("peerlock: read %s: name %.64q: %w", cfg.Path, name, err)
		}
	}
	return nil
}

// load restores one resource. A vote for another peer counts from now on.
func (s *shard[S, M, P]) load(name string, b []byte) error {
	r := s.add(name)
	if err := any(P(&r.state)).(peercore.Durable).LoadStored(b); err != nil {
		return err
	}
	if t, ok := any(P(&r.state)).(peercore.Timed); ok && t.Running(peercore.Vote) {
		s.start(r, peercore.Vote)
	}
	s.tidy(r)
	return nil
}

// store appends the votes of r to the journal. Later messages and holds of r wait for it.
func (s *shard[S, M, P]) store(r *resource[S, M, P]) {
	r.stored = s.locker.journal.Append(r.name, any(P(&r.state)).(peercore.Durable).AppendStored(nil))
}

// say sends a message about r as soon as the latest votes of r are stored.
func (s *shard[S, M, P]) say(r *resource[S, M, P], link *mesh.Link, payload []byte) {
	if r.stored <= s.stored {
		link.Send(payload)
		return
	}
	s.waiting = append(s.waiting, unsaid[S, M, P]{batch: r.stored, r: r, link: link, payload: slices.Clone(payload)})
}

// tellHold tells the first claim that it holds, as soon as the latest votes of r are stored.
func (s *shard[S, M, P]) tellHold(r *resource[S, M, P]) {
	if r.stored <= s.stored {
		s.hold(r)
		return
	}
	r.untold = r.stored
	s.waiting = append(s.waiting, unsaid[S, M, P]{batch: r.stored, r: r})
}

// storedUpTo is called with the number of each batch that is on disk.
func (l *Locker[S, M, P]) storedUpTo(batch uint64) {
	for i := range l.shards {
		l.shards[i].storedUpTo(batch)
	}
	l.mesh.Flush()
}

func (s *shard[S, M, P]) storedUpTo(batch uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = batch
	var due []unsaid[S, M, P]
	s.waiting = slices.DeleteFunc(s.waiting, func(u unsaid[S, M, P]) bool {
		if u.batch <= batch {
			due = append(due, u)
		}
		return u.batch <= batch
	})
	if s.closed {
		return
	}
	for _, u := range due { // before the holds, which may cause more messages
		if u.link != nil {
			u.link.Send(u.payload)
		}
	}
	for _, u := range due {
		if u.link != nil || u.r.untold != u.batch { // a message, or a hold that ended or was told meanwhile
			continue
		}
		if s.expireLate(u.r); u.r.untold == u.batch {
			u.r.untold = 0
			s.hold(u.r)
		}
	}
}

// cannotStore closes the peer, which cannot vote any more.
func (l *Locker[S, M, P]) cannotStore(err error) {
	l.log.Error("cannot keep votes, so this peer ends", "error", err)
	l.failed <- err // once
	go func() { _ = l.Close() }()
}
