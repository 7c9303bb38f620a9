package locktest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

// toyTime is the lease time of the toy.
const toyTime = 100 * time.Millisecond

// toyServer keeps, for each resource, who holds it and until when.
type toyServer struct {
	mu   sync.Mutex
	held map[string]*toyLease
	flaw flaw
}

// flaw is what is broken of a toy. The zero value is a right lock.
type flaw struct {
	neverEnds     bool // the server forgets nothing
	endsEarly     bool // the server forgets before the holder may
	renewedForAll bool // a renewal takes the end away
	noRenewal     bool // not broken: a lock without renewals
	deafHolder    bool // Lost is not closed at the end
	silent        bool // Expires says that there is no end
	boasts        bool // Expires says more than the lease time
	freesAny      bool // a release frees whoever holds by now

	// Known mistakes of libraries that cannot be run here.
	fromFirst   bool // node-redlock#169: an extension counts from the first start
	fromAnswer  bool // dynamolock: what is left of the lease is not looked at, however late the answer is
	stopsAt     bool // redisson#3194: after one renewal that fails no other follows, and the holder is not told
	staysTrue   bool // RedLock.net's IsAcquired: true, whatever the servers say to an extension
	losesAnswer bool // ShedLock: a grant whose answer is lost is told as not acquired, and kept
}

// toy is a client of the server: a lock with leases, renewed every third of them.
type toy struct {
	server *toyServer
	clock  clock.Clock

	mu     sync.Mutex
	closed chan struct{}
	leases map[*toyLease]struct{}
}

type toyLease struct {
	toy      *toy
	resource string
	began    time.Time // at the server, whose mutex guards it
	ends     time.Time // as began
	endless  bool

	mu    sync.Mutex
	until time.Time // for the holder
	timer clock.Timer
	over  bool
	err   error
	lost  chan struct{}
}

// newToys returns two clients of one server, the first of them on the clock.
func newToys(f flaw, c *Clock) []locks.Locker {
	server := &toyServer{held: map[string]*toyLease{}, flaw: f}
	var clients []locks.Locker
	for _, c := range []clock.Clock{c, clock.System()} {
		clients = append(clients, &toy{server: server, clock: c, closed: make(chan struct{}), leases: map[*toyLease]struct{}{}})
	}
	return clients
}

func (t *toy) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	for {
		if signals.Closed(t.closed) {
			return nil, locks.ErrClosed
		}
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(locks.ErrNotAcquired, err)
		}
		le := &toyLease{toy: t, resource: resource, lost: make(chan struct{}), until: t.clock.Now().Add(toyTime)}
		if t.server.set(le) {
			if f := t.server.flaw; f.fromAnswer && t.clock != clock.System() { // the first client is the one that crashes
				_ = clock.Sleep(ctx, toyTime/2)
				le.until = t.clock.Now().Add(toyTime)
			} else if deadline, has := ctx.Deadline(); f.losesAnswer && has && clock.System().Now().Add(short).After(deadline) {
				return nil, errors.Join(locks.ErrNotAcquired, context.DeadlineExceeded)
			}
			t.mu.Lock()
			t.leases[le] = struct{}{}
			t.mu.Unlock()
			le.mu.Lock()
			le.arm()
			le.mu.Unlock()
			return le, nil
		}
		_ = clock.Sleep(context.Background(), time.Millisecond)
	}
}

func (t *toy) Close() error {
	t.mu.Lock()
	leases := t.leases
	t.leases = nil
	if !signals.Closed(t.closed) {
		close(t.closed)
	}
	t.mu.Unlock()
	for le := range leases {
		le.end(true)
	}
	return nil
}

// set makes the lease the holder if there is none.
func (s *toyServer) set(le *toyLease) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := clock.System().Now()
	if h := s.held[le.resource]; h != nil && (s.flaw.neverEnds || h.endless || now.Before(h.ends)) {
		return false
	}
	le.began, le.ends = now, now.Add(toyTime)
	if s.flaw.endsEarly {
		le.ends = now.Add(toyTime / 10)
	}
	s.held[le.resource] = le
	return true
}

func (s *toyServer) renew(le *toyLease) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[le.resource] != le {
		return false
	}
	le.ends = clock.System().Now().Add(toyTime)
	if s.flaw.fromFirst {
		le.ends = le.began.Add(toyTime)
	}
	le.endless = s.flaw.renewedForAll
	return true
}

// free says whether the lease was still the holder.
func (s *toyServer) free(le *toyLease) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.held[le.resource] == le
	if mine || s.flaw.freesAny {
		delete(s.held, le.resource)
	}
	return mine
}

// arm plans the next renewal, or the end.
func (le *toyLease) arm() {
	at := toyTime / 3
	if le.toy.server.flaw.noRenewal {
		at = le.until.Sub(le.toy.clock.Now())
	}
	le.timer = le.toy.clock.AfterFunc(at, le.tick)
}

func (le *toyLease) tick() {
	le.mu.Lock()
	f, now := le.toy.server.flaw, le.toy.clock.Now()
	if f.stopsAt { // this renewal fails
		le.mu.Unlock()
		return
	}
	if !le.over && f.staysTrue {
		_ = le.toy.server.renew(le)
		le.until = now.Add(toyTime)
		le.arm()
		le.mu.Unlock()
		return
	}
	if !le.over && now.Before(le.until) && !f.noRenewal && le.toy.server.renew(le) {
		le.until = now.Add(toyTime)
		le.arm()
		le.mu.Unlock()
		return
	}
	le.mu.Unlock()
	if !f.deafHolder {
		le.end(true)
	}
}

// end ends the lease at its holder and the server, once.
func (le *toyLease) end(lost bool) {
	le.mu.Lock()
	defer le.mu.Unlock()
	if le.over {
		return
	}
	le.over = true
	le.timer.Stop()
	mine := le.toy.server.free(le)
	if lost {
		close(le.lost)
	}
	if lost || !mine {
		le.err = locks.ErrNotHeld
	}
}

func (le *toyLease) Token() (locks.Token, bool) { return 0, false }

func (le *toyLease) Expires() (time.Time, bool) {
	le.mu.Lock()
	defer le.mu.Unlock()
	if le.toy.server.flaw.boasts {
		return le.until.Add(2 * toyTime), true
	}
	return le.until, !le.toy.server.flaw.silent
}

func (le *toyLease) Lost() <-chan struct{} { return le.lost }

func (le *toyLease) Release(context.Context) error {
	le.end(false)
	return le.err
}

func TestToysConform(t *testing.T) {
	for name, f := range map[string]flaw{"renewed": {}, "not renewed": {noRenewal: true}} {
		t.Run(name, func(t *testing.T) {
			c := &Clock{}
			s := Subject{Leases: &Leases{Time: toyTime, Clock: c}, New: func(testing.TB) []locks.Locker { return newToys(f, c) }}
			rule := check{"lease", true, leaseEnds}
			if err := rule.guarded(s, s.New(t), deadline); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBrokenLeasesFail(t *testing.T) {
	for name, f := range map[string]flaw{
		"never ends":                     {neverEnds: true},
		"ends before the holder knows":   {endsEarly: true, noRenewal: true},
		"once renewed it never ends":     {renewedForAll: true},
		"the holder is not told":         {deafHolder: true},
		"no word of an end":              {silent: true},
		"says more than there is":        {boasts: true},
		"frees what is somebody else's":  {freesAny: true, noRenewal: true},
		"leases that nobody has told of": {noRenewal: true},

		"node-redlock: an extension counts from the first start":  {fromFirst: true},
		"dynamolock: a late answer is not looked at":              {fromAnswer: true},
		"Redisson: the watchdog stops after a renewal that fails": {stopsAt: true},
		"RedLock.net: IsAcquired stays true":                      {staysTrue: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &Clock{}
			s := Subject{
				Leases: &Leases{Time: toyTime, Clock: c, Margin: 4 * toyTime},
				New:    func(testing.TB) []locks.Locker { return newToys(f, c) },
			}
			if name == "leases that nobody has told of" {
				s.Leases = nil
			}
			rule := check{"lease", true, leaseEnds}
			var err error
			for range 10 { // a busy machine is later than the mistake
				if err = rule.guarded(s, s.New(t), 20*toyTime); err != nil {
					break
				}
			}
			if err == nil {
				t.Fatal("nothing was found")
			}
			t.Log(err)
		})
	}
}

// TestLostAnswer: ShedLock's mistake is found by the check of waits that give up.
func TestLostAnswer(t *testing.T) {
	c := &Clock{}
	s := Subject{New: func(testing.TB) []locks.Locker { return newToys(flaw{losesAnswer: true, neverEnds: true}, c) }}
	rule := check{"giving up at any moment never wedges the lock", true, churn}
	err := rule.guarded(s, s.New(t), 20*toyTime)
	if err == nil {
		t.Error("nothing was found")
	}
	t.Log(err)
}
