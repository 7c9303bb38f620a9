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

// What a shard may not say yet waits in two generations, so that what comes while the
// disk works does not hold up what came before:
//
//	Store ─► out, and fresh is set ─► begin ─► inflight ─► stored ─► links, and whoever
//	                         a batch is about                        holds is told
//	                         to be written

// generation is what is said together.
type generation[S, M any, P peercore.Machine[S, M]] struct {
	out   [mesh.MaxRank + 1]outbox
	full  peercore.Set // ranks whose outbox is not empty
	holds []untold[S, M, P]
}

// untold is a hold that its claim has not been told of.
type untold[S, M any, P peercore.Machine[S, M]] struct {
	r      *resource[S, M, P]
	number uint64
}

// These explain what to do about a file that is not there, cannot be read, or is used.
var (
	errNoState = errors.New("this peer may have given votes before: put its own file back if it was moved, " +
		"never an older copy, which lacks votes; or set Config.Lost if it is gone for good, or Config.Founding if the peer has never run")
	errBadState = errors.New("if this is the peer's own file, its votes are lost: move it away and set Config.Lost")
	errTwice    = errors.New("end the other process of this peer first: a peer is one process")
)

// appendName begins a record: a name, and what its state has stored. The empty name comes
// with a number; states of names that are not recorded start above all of these.
func appendName(b []byte, name string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(name))), name...)
}

// openState reads what this peer has stored before, if the algorithm stores anything. It
// says whether the peer must recover what it has lost.
func (l *Locker[S, M, P]) openState(cfg journal.Config, founding, lost bool) (amnesic bool, err error) {
	amnesic = !founding
	d, ok := any(P(&l.shards[0].idle)).(peercore.Durable)
	if !ok || !d.Stores() {
		return amnesic, nil
	}
	if cfg.Path == "" {
		return false, fmt.Errorf("peerlock: StateFile is empty, want where to keep what must outlive a crash: %w", locks.ErrInvalid)
	}
	l.state = cfg
	l.state.Dump, l.state.Begin, l.state.Stored, l.state.Failed = l.dump, l.begin, l.stored, l.cannotStore
	if l.unlock, err = journal.Lock(cfg.Path); errors.Is(err, journal.ErrInUse) {
		return false, fmt.Errorf("peerlock: %w: %w", err, errTwice)
	} else if err != nil {
		return false, fmt.Errorf("peerlock: %w", err)
	}
	last := map[string][]byte{}
	j, err := journal.Open(l.state, func(record []byte) error {
		size, n := binary.Uvarint(record)
		if n <= 0 || size > uint64(len(record)-n) {
			return fmt.Errorf("a name is longer than its record: %w", journal.ErrCorrupt)
		}
		end := n + int(size) //nolint:gosec // it fits into the record
		if size == 0 {
			return l.startAbove(record[end:])
		}
		last[string(record[n:end])] = append([]byte(nil), record[end:]...)
		return nil
	})
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && founding:
		return false, l.createState(0)
	case missing && lost:
		l.log.Warn("starts as a peer that has lost its memory: it waits until its votes are over, and asks the others", "missing", cfg.Path)
		return true, nil // the file is made when that is over
	case missing:
		return false, fmt.Errorf("peerlock: %w: %w", err, errNoState)
	case errors.Is(err, journal.ErrCorrupt):
		return false, fmt.Errorf("peerlock: %w: %w", err, errBadState)
	case err != nil:
		return false, fmt.Errorf("peerlock: %w", err)
	}
	l.journal.Store(j)
	for _, name := range slices.Sorted(maps.Keys(last)) {
		if err := l.load(name, last[name]); err != nil {
			j.Close()
			return false, fmt.Errorf("peerlock: read %s: name %.64q: %w", cfg.Path, name, err)
		}
	}
	return false, nil
}

// createState makes the file, with a number that states start above.
func (l *Locker[S, M, P]) createState(round uint64) error {
	l.base.Store(round)
	j, err := journal.Create(l.state)
	if err != nil {
		return fmt.Errorf("peerlock: %w", err)
	}
	l.journal.Store(j)
	return nil
}

// startAbove takes one record of the empty name. There are many: each shard writes its own,
// and the next process spreads the names over the shards in another way.
func (l *Locker[S, M, P]) startAbove(b []byte) error {
	round, n := binary.Uvarint(b)
	if n <= 0 || n != len(b) {
		return fmt.Errorf("number %x that names start above: %w", b, journal.ErrCorrupt)
	}
	l.base.Store(max(l.base.Load(), round))
	for i := range l.shards[:shardCount] {
		l.shards[i].round = l.base.Load()
	}
	return nil
}

// load takes one record of a name. Votes for others run from now on.
func (l *Locker[S, M, P]) load(name string, b []byte) error {
	s := l.shardOf(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.add(name)
	if err := any(P(&r.state)).(peercore.Durable).LoadStored(b); err != nil {
		return err
	}
	if t, ok := any(P(&r.state)).(peercore.Timed); ok && t.Running(peercore.Vote) {
		s.start(r, peercore.Vote)
	}
	if !r.wanted() {
		s.forget(r)
	}
	return nil
}

// dump gives what counts.
func (l *Locker[S, M, P]) dump(record func([]byte)) {
	var b []byte
	for i := range l.shards[:shardCount] {
		s := &l.shards[i]
		s.mu.Lock()
		b = binary.AppendUvarint(appendName(b[:0], ""), max(s.round, l.base.Load()))
		record(b)
		for name, floor := range s.floors.of {
			P(&s.blank).Reset(&s.idle, floor)
			b = any(P(&s.blank)).(peercore.Durable).AppendStored(appendName(b[:0], name))
			record(b)
		}
		for name, r := range s.resources {
			b = any(P(&r.state)).(peercore.Durable).AppendStored(appendName(b[:0], name))
			record(b)
		}
		s.mu.Unlock()
	}
}

// store keeps what r has to keep. What the shard says from now on waits for it.
func (s *shard[S, M, P]) store(r *resource[S, M, P]) {
	s.wire = any(P(&r.state)).(peercore.Durable).AppendStored(appendName(s.wire[:0], r.name))
	s.locker.journal.Load().Append(s.wire)
	s.fresh = true
}

// quiet says that the shard may say nothing before the disk is done.
func (s *shard[S, M, P]) quiet() bool { return s.fresh || s.inflight != nil }

// tellHold tells the first claim that it holds, as soon as that may be known.
func (s *shard[S, M, P]) tellHold(r *resource[S, M, P]) {
	if !s.quiet() {
		s.hold(r)
		return
	}
	s.numbers++
	r.untold = s.numbers
	s.holds = append(s.holds, untold[S, M, P]{r, s.numbers})
}

// begin is called before a batch is written that has in it all that was stored so far.
func (l *Locker[S, M, P]) begin() {
	for i := range l.shards[:shardCount] {
		s := &l.shards[i]
		s.mu.Lock()
		if s.fresh {
			s.fresh, s.inflight = false, s.spare
			if s.inflight == nil {
				s.inflight = &generation[S, M, P]{}
			}
			*s.inflight, s.generation, s.spare = s.generation, *s.inflight, nil
		}
		s.mu.Unlock()
	}
}

// stored is called once the batch is on disk.
func (l *Locker[S, M, P]) stored() {
	<-l.started
	for i := range l.shards[:shardCount] {
		s := &l.shards[i]
		s.mu.Lock()
		if g := s.inflight; g != nil && !s.closed {
			s.inflight = nil
			s.say(g)
			if !s.fresh {
				s.say(&s.generation)
			}
			s.spare = g
		}
		s.mu.Unlock()
	}
	l.mesh.Flush()
}

// say hands what was held back to the links, then to those who hold. What these do next
// may be to say something, which then is of the shard's latest generation.
func (s *shard[S, M, P]) say(g *generation[S, M, P]) {
	s.sendAll(g)
	holds := g.holds
	g.holds = nil
	for _, h := range holds {
		if h.r.untold != h.number { // over before anybody knew
			continue
		}
		if s.expireLate(h.r); h.r.untold == h.number {
			h.r.untold = 0
			s.hold(h.r)
		}
	}
}

// cannotStore ends everything: nothing can be promised any more.
func (l *Locker[S, M, P]) cannotStore(err error) {
	l.log.Error("cannot keep votes, so this peer ends", "error", err)
	l.failed <- err // once
	go func() { _ = l.Close() }()
}

// Failed implements [locks.Failer]: the state file could not be written.
func (l *Locker[S, M, P]) Failed() <-chan error { return l.failed }
