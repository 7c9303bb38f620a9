package peerlock

import (
	"hash/maphash"
	"os"

	"locklab/locks/peerlock/journal"
)

// SetSync has the state file synced by f.
func SetSync[O any](cfg *Config[O], f func(*os.File) error) { cfg.sync = f }

// Forgets is how many names a shard must see for it to forget the token of the first.
const Forgets = floorCount + lateCount + 1

// Lates is how many names that nobody wants any more a shard keeps.
const Lates = lateCount

// InFirstShard says which shard the name is of: the first, or another.
func (l *Locker[S, M, P]) InFirstShard(name string) bool {
	return maphash.String(l.hash, name)%shardCount == 0
}

// Compact writes the state file anew, while nothing is stored.
func (l *Locker[S, M, P]) Compact() error {
	l.journal.Load().Close()
	j, err := journal.Create(l.state)
	if err == nil {
		l.journal.Store(j)
	}
	return err
}
