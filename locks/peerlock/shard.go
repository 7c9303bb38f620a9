package peerlock

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"

	"locklab/locks/peerlock/mesh"
	"locklab/locks/peerlock/peercore"
)

// shardCount is how many mutexes a peer has. With one for all names, 1,000 waiters on two CPUs keep meeting at it.
const shardCount = 16

// shard holds the resources whose names hash to it. Its mutex guards all other fields. Resources are independent, so
// shards are, too: each sees connections come and go by itself.
type shard[S, M any, P peercore.Machine[S, M]] struct {
	locker *Locker[S, M, P]

	mu        sync.Mutex
	closed    bool
	idle      S // the state of an unwanted resource
	links     [mesh.MaxRank + 1]*mesh.Link
	resources map[string]*resource[S, M, P] // the wanted ones, and those in late
	late      [lateCount]*resource[S, M, P] // a ring of the latest unwanted ones
	lateAt    int                           // the next place in late
	round     uint64                        // at least the round of every forgotten state
	sent      uint64                        // messages
	rand      *rand.Rand                    // draws pauses
	stored    uint64                        // the latest batch on disk, see disk.go
	waiting   []unsaid[S, M, P]

	// Reused buffers:
	effects []peercore.Effect[M]
	wire    []byte
}

func (l *Locker[S, M, P]) shardOf(name string) *shard[S, M, P] {
	return &l.shards[maphash.String(l.hash, name)%shardCount]
}

// close ends all claims.
func (s *shard[S, M, P]) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, r := range s.resources {
		s.orphan(r)
	}
}
