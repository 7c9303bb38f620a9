package multiphase

import "hash/maphash"

// Waiting is how many claims on the resource there are, the holder's included.
func Waiting(l *Locker, name string) int {
	s := &l.shards[maphash.String(l.hash, name)%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	if r := s.resources[name]; r != nil {
		for c := r.first; c != nil; c = c.next {
			n++
		}
	}
	return n
}
