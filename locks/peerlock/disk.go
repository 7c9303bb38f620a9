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

// What may not be said of a resource yet waits for the batch of the journal with what was
// stored of it last:
//
//	Store ─► batch ─► disk ─► stored ─► links, then the claims that hold are told

// unsaid is a message, or a hold that its claim has not been told of.
type unsaid[S, M any, P peercore.Machine[S, M]] struct {
	batch   uint64
	r       *resource[S, M, P]
	link    *mesh.Link // nil for a hold
	payload []byte
}

// These explain what to do about a file that cannot be read, or is used.
var (
	errLost  = errors.New("without its votes this peer could vote twice: put its file back, or found the cluster anew")
	errTwice = errors.New("end the other process of this peer first: a peer is one process")
)

// openState reads what this peer has stored before, if the algorithm stores anything, and makes the file anew
// with the latest of each name. Names that it does not have start above the number of the empty name.
func (l *Locker[S, M, P]) openState(cfg journal.Config, founding bool) (err error) {
	if _, durable := any(P(&l.idle)).(peercore.Durable); !durable {
		return nil
	}
	if cfg.Path == "" {
		return fmt.Errorf("peerlock: StateFile is empty, want where to keep what must outlive a crash: %w", locks.ErrInvalid)
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
	var n int
	if l.round, n = binary.Uvarint(last[""]); n != len(last[""]) {
		return fmt.Errorf("peerlock: read %s: number %x that names start above: %w", cfg.Path, last[""], journal.ErrCorrupt)
	}
	if l.journal, err = journal.Create(cfg, last); err != nil {
		return fmt.Errorf("peerlock: %w", err)
	}
	delete(last, "")
	for _, name := range slices.Sorted(maps.Keys(last)) {
		if err := l.load(name, last[name]); err != nil {
			return fmt.Errorf("peerlock: read %s: name %.64q: %w", cfg.Path, name, err)
		}
	}
	return nil
}

// load takes one record of a name. Votes for others run from now on.
func (l *Locker[S, M, P]) load(name string, b []byte) error {
	r := l.add(name)
	if err := any(P(&r.state)).(peercore.Durable).LoadStored(b); err != nil {
		return err
	}
	if t, ok := any(P(&r.state)).(peercore.Timed); ok && t.Running(peercore.Vote) {
		l.start(r, peercore.Vote)
	}
	l.tidy(r)
	return nil
}

// store keeps what r has to keep. What is said of r from now on waits for it.
func (l *Locker[S, M, P]) store(r *resource[S, M, P]) {
	r.stored = l.journal.Append(r.name, any(P(&r.state)).(peercore.Durable).AppendStored(nil))
}

// say sends a message about r, as soon as it may be known.
func (l *Locker[S, M, P]) say(r *resource[S, M, P], link *mesh.Link, payload []byte) {
	if r.stored <= l.stored {
		link.Send(payload)
		return
	}
	l.waiting = append(l.waiting, unsaid[S, M, P]{batch: r.stored, r: r, link: link, payload: slices.Clone(payload)})
}

// tellHold tells the first claim that it holds, likewise.
func (l *Locker[S, M, P]) tellHold(r *resource[S, M, P]) {
	if r.stored <= l.stored {
		l.hold(r)
		return
	}
	r.untold = r.stored
	l.waiting = append(l.waiting, unsaid[S, M, P]{batch: r.stored, r: r})
}

// storedUpTo is called once a batch is on disk, with its number.
func (l *Locker[S, M, P]) storedUpTo(batch uint64) {
	l.mu.Lock()
	defer l.mesh.Flush()
	defer l.mu.Unlock()
	l.stored = batch
	var due []unsaid[S, M, P]
	l.waiting = slices.DeleteFunc(l.waiting, func(u unsaid[S, M, P]) bool {
		if u.batch <= batch {
			due = append(due, u)
		}
		return u.batch <= batch
	})
	if l.closed {
		return
	}
	for _, u := range due { // before the holds, whose claims may have more to say
		if u.link != nil {
			u.link.Send(u.payload)
		}
	}
	for _, u := range due {
		if u.link != nil || u.r.untold != u.batch { // or over before anybody knew, or told
			continue
		}
		if l.expireLate(u.r); u.r.untold == u.batch {
			u.r.untold = 0
			l.hold(u.r)
		}
	}
}

// cannotStore ends everything: nothing can be promised any more.
func (l *Locker[S, M, P]) cannotStore(err error) {
	l.log.Error("cannot keep votes, so this peer ends", "error", err)
	l.failed <- err // once
	go func() { _ = l.Close() }()
}
