package quorum

import (
	"encoding/binary"
	"errors"
	"fmt"

	"locklab/locks/peerlock/peercore"
)

// ErrStored says that what should be a stored vote is none.
var ErrStored = errors.New("quorum: malformed vote")

// stored is what must outlive a crash: without the vote, it could be given twice; without
// the floor, tokens could go back; without the highest token that was seen, the peer could
// use one of its own again.
type stored struct {
	vote        request // token 0: none
	floor, seen uint64
}

// store asks for what is needed to be kept before what follows leaves the process. Only
// giving a vote needs it: a vote that is still on disk though it was taken back is freed
// by time.
func (s *State) store(out []Effect) []Effect {
	s.disk = stored{vote: request{from: s.vote.from, token: s.vote.token}, floor: s.floor, seen: s.seen}
	return append(out, Effect{Kind: peercore.Store})
}

// AppendStored appends what the latest Store asked to be kept.
func (s *State) AppendStored(b []byte) []byte { return peercore.Encode(b, s.disk.code) }

// LoadStored makes a state that has just been made or reset the one of a process that has
// read b. Its error wraps [ErrStored].
func (s *State) LoadStored(b []byte) error {
	var numbers [4]uint64
	rest := b
	for i := range numbers {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			return fmt.Errorf("%d bytes %x, want four numbers: %w", len(b), b, ErrStored)
		}
		numbers[i], rest = v, rest[n:]
	}
	from, token := numbers[0], numbers[1]
	if len(rest) > 0 {
		return fmt.Errorf("%d bytes after it: %w", len(rest), ErrStored)
	} else if from >= peercore.MaxPeers || token != 0 && int(from) != s.cfg.self && !s.cfg.peers.Has(int(from)) {
		return fmt.Errorf("vote for peer %d, which is not configured: %w", from, ErrStored)
	}
	s.disk = stored{
		vote:  request{from: int(from), token: token},
		floor: max(numbers[2], s.floor), seen: max(numbers[3], token, s.seen),
	}
	s.restart()
	return nil
}

// restart makes it the state of a new process that has read what was kept. What the old
// one held or asked for is over, so its vote for itself is free at once: a process that has the
// file for itself knows that the old one has ended, and its callers were told or ended with
// it. Another process of the same peer, or an older copy of the file, would break that.
func (s *State) restart() {
	d := s.disk
	*s = State{cfg: s.cfg, waiting: s.waiting[:0], disk: d, vote: d.vote, floor: d.floor, seen: d.seen}
	if s.votedFor(s.cfg.self) {
		s.floor, s.vote = max(s.floor, s.vote.token), request{}
	}
}

func (d *stored) code(c *peercore.Coder) {
	c.Rank(&d.vote.from)
	for _, number := range [...]*uint64{&d.vote.token, &d.floor, &d.seen} {
		c.Number(number)
	}
}
