package peerlock

import "locklab/locks/peerlock/peercore"

// floorCount is how many forgotten resources each shard remembers the token of.
const floorCount = 4096

// floors are the highest tokens of resources that were forgotten. A new state starts
// above the token that its name had; one name's tokens say nothing about another's, or
// peers that have forgotten different names would refuse each other's tokens as stale.
type floors struct {
	of    map[string]uint64
	names []string // a ring of those in of, the oldest at next
	next  int
}

// take is the floor of the name, 0 if there is none.
func (f *floors) take(name string) uint64 { return f.of[name] }

// put remembers the token. It returns the one of the name that it forgets for it.
func (f *floors) put(name string, token uint64) (forgotten uint64) {
	if f.of == nil {
		f.of = map[string]uint64{}
	}
	if _, known := f.of[name]; known {
		f.of[name] = token
		return 0
	}
	f.of[name] = token
	if len(f.names) < floorCount {
		f.names = append(f.names, name)
		return 0
	}
	oldest := f.names[f.next]
	forgotten = f.of[oldest]
	delete(f.of, oldest)
	f.names[f.next] = name
	f.next = (f.next + 1) % floorCount
	return forgotten
}

// highest is the highest token that is remembered.
func (f *floors) highest() (token uint64) {
	for _, t := range f.of {
		token = max(token, t)
	}
	return token
}

// remember keeps of r, which is being forgotten, the number that a state of the same
// name must start above.
func (s *shard[S, M, P]) remember(r *resource[S, M, P]) {
	round := P(&r.state).Round()
	if s.locker.protocol.Lease.TTL > 0 {
		round = s.floors.put(r.name, round)
	}
	s.round = max(s.round, round)
}

// used is the highest number that was used with any resource, for a control state.
// It is 0 for others, which do not ask.
func (s *shard[S, M, P]) used() (round uint64) {
	if !s.control {
		return 0
	}
	for i := range s.locker.shards[:shardCount] {
		o := &s.locker.shards[i]
		o.mu.Lock()
		round = max(round, o.round, o.floors.highest())
		for _, r := range o.resources {
			round = max(round, P(&r.state).Round())
		}
		o.mu.Unlock()
	}
	return round
}

// recover tells all resources that the control state has recovered. From then on they
// may have something to store.
func (l *Locker[S, M, P]) recover(round uint64) {
	if l.state.Path != "" && l.journal.Load() == nil {
		if err := l.createState(round); err != nil {
			l.cannotStore(err)
			return
		}
	}
	ev := peercore.Event[M]{Kind: peercore.Recover, Round: round}
	for i := range l.shards[:shardCount] {
		s := &l.shards[i]
		s.mu.Lock()
		if !s.closed {
			s.round = max(s.round, round)
			s.effects = P(&s.idle).Step(ev, s.effects[:0]) // has no effects: nobody wants it
			for _, r := range s.resources {
				s.step(r, ev)
				s.tidy(r)
			}
		}
		s.mu.Unlock()
	}
	l.checkReady()
}
