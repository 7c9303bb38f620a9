package quorum

import (
	"encoding/binary"
	"errors"
	"fmt"

	"locklab/locks/peerlock/peercore"
)

// ErrStored says that a stored vote is malformed.
var ErrStored = errors.New("quorum: malformed vote")

// stored is the part of the state that must outlive a crash. Without the vote, the peer could vote
// twice; without the floor, tokens could go back; without the highest token seen, it could reuse one.
type stored struct {
	vote        request // token 0: none
	floor, seen uint64
}

// store asks the shell to store the vote before later effects leave the process. Only giving a vote
// needs it: a vote that was taken back but is still on disk expires.
func (s *State) store(out []Effect) []Effect {
	s.disk = stored{vote: request{from: s.vote.from, token: s.vote.token}, floor: s.floor, seen: s.seen}
	return append(out, Effect{Kind: peercore.Store})
}

// AppendStored appends the data of the latest Store.
func (s *State) AppendStored(b []byte) []byte { return peercore.Encode(b, s.disk.code) }

// LoadStored turns a new or reset state into that of a restarted process that has read b.
// Its error wraps [ErrStored].
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

// restart makes s the state of a new process that has read the stored data. The old process has
// ended, since this one has the file for itself, and its claims have ended with it: the vote for
// itself is free at once. A second process of the peer, or an older copy of the file, would break that.
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
