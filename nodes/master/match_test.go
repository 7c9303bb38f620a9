package master_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/local"
	"locklab/locks/locktest"
	"locklab/nodes/master"
	"locklab/nodes/worker"
	"locklab/workloads/history"
)

func sharedLock(t testing.TB) locks.Locker {
	t.Helper()
	locker := local.New() // one for all masters of the test: a correct lock
	t.Cleanup(func() { _ = locker.Close() })
	return locker
}

// TestSharedLockMakesNoDuplicates: with a correct lock, however many players come at
// once to two masters, exactly as many rooms are made as they fill.
func TestSharedLockMakesNoDuplicates(t *testing.T) {
	l := newLab(t, 3, func(s *worker.Settings) { s.Capacity = 4 })
	lock := sharedLock(t)
	a, b := l.master("a", lock, nil), l.master("b", lock, nil)
	players := map[string]int{"g1": 30, "g2": 1, "g3": 17}
	var wg sync.WaitGroup
	var mu sync.Mutex
	inRoom := map[string]int{}
	created := 0
	for group, n := range players {
		wg.Go(func() {
			for _, match := range l.seats(group, n, a, b) {
				mu.Lock()
				inRoom[match.ID]++
				if match.Created {
					created++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for group, n := range players {
		if got, want := l.journal.rooms(group), (n+3)/4; got != want {
			t.Errorf("%d rooms for %d players of %s, want %d", got, n, group, want)
		}
	}
	for room, n := range inRoom {
		if n > 4 {
			t.Errorf("%d players in room %q of 4 seats", n, room)
		}
	}
	if created == 0 || created > len(inRoom) {
		t.Errorf("%d matches say that they created a room, of %d rooms", created, len(inRoom))
	}
	a.Close()
	b.Close()
	checkHistory(t, l.journal)
}

// checkHistory: every hold that began has ended, no two holds of a group overlap, and
// every order lies within its hold.
func checkHistory(t *testing.T, j *journal) {
	t.Helper()
	type span struct {
		group    string
		from, to int64
	}
	holds := map[string]span{}
	for _, e := range j.Events(history.KindAcquire) {
		if e.FromNS > e.AtNS || e.Client == "" || e.Resource == "" || e.Node == "" || e.Outcome == "" {
			t.Errorf("acquire event %+v lacks something", e)
		}
		if e.Outcome != string(locks.OutcomeOK) {
			continue
		}
		if _, twice := holds[e.Hold]; twice || e.Hold == "" {
			t.Errorf("hold %q began twice", e.Hold)
		}
		holds[e.Hold] = span{group: e.Resource, from: e.AtNS}
	}
	releases := j.Events(history.KindRelease)
	for _, e := range releases {
		s, ok := holds[e.Hold]
		if !ok || s.to != 0 || e.FromNS < s.from || e.AtNS < e.FromNS || e.Outcome != string(locks.OutcomeOK) {
			t.Errorf("release %+v of hold %+v", e, s)
		}
		s.to = e.FromNS
		holds[e.Hold] = s
	}
	if len(releases) != len(holds) {
		t.Errorf("%d holds, %d releases", len(holds), len(releases))
	}
	for _, e := range j.Events(history.KindOrder) {
		s := holds[e.Hold]
		if e.FromNS < s.from || e.AtNS > s.to || e.AtNS < e.FromNS || e.Resource != s.group ||
			e.Room == "" || e.Worker == "" || e.Order == "" || e.Outcome != string(locks.OutcomeOK) || len(e.Unreachable) > 0 {
			t.Errorf("order %+v in hold %+v", e, s)
		}
	}
	byGroup := map[string][]span{}
	for _, s := range holds {
		byGroup[s.group] = append(byGroup[s.group], s)
	}
	for group, spans := range byGroup {
		slices.SortFunc(spans, func(a, b span) int { return int(a.from - b.from) })
		for i := 1; i < len(spans); i++ {
			if spans[i].from < spans[i-1].to {
				t.Errorf("two holds of %s overlap: %+v, %+v", group, spans[i-1], spans[i])
			}
		}
	}
}

// TestBrokenLockMakesDuplicates is the control: a lock that lets two in makes two
// rooms for two players, and the test before would see it.
func TestBrokenLockMakesDuplicates(t *testing.T) {
	l := newLab(t, 2, nil)
	var orders atomic.Int64
	bothOrder := make(chan struct{}) // so neither has seen the other's room
	l.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if isOrder(r) {
			if orders.Add(1) == 2 {
				close(bothOrder)
			}
			<-bothOrder
		}
		return false
	})
	broken := &scripted{leases: []*fakeLease{newLease()}}
	l.seats("g", 2, l.master("a", broken, nil), l.master("b", broken, nil))
	if n := l.journal.rooms("g"); n != 2 {
		t.Errorf("%d rooms, want 2: each of two holders makes one", n)
	}
}

// TestUnreachableWorkerIsListed: the room is made elsewhere, and the order says which
// worker could not be seen.
func TestUnreachableWorkerIsListed(t *testing.T) {
	l := newLab(t, 3, nil)
	l.intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		if workerOf(r) != "w2" {
			return false
		}
		if isFeed(r) {
			rw.WriteHeader(http.StatusBadGateway)
			return true
		}
		return hang(r)
	})
	m := l.master("a", sharedLock(t), func(s *master.Settings) {
		s.SuspectLookTimeout, s.ReadyTimeout = 20*time.Millisecond, 20*time.Millisecond
	})
	match := l.seats("g", 1, m)[0]
	orders := l.journal.Events(history.KindOrder)
	if len(orders) != 1 || !slices.Equal(orders[0].Unreachable, []string{"w2"}) || orders[0].Worker == "w2" {
		t.Fatalf("orders: %+v", orders)
	}
	if !match.Created || match.ID != orders[0].Room {
		t.Errorf("match %+v of order %+v", match, orders[0])
	}
}

// TestUnknownOrderIsNotRetriedElsewhere: the first worker makes the room but its
// answer is lost.
func TestUnknownOrderIsNotRetriedElsewhere(t *testing.T) {
	l := newLab(t, 3, nil)
	var orders atomic.Int64
	l.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if isOrder(r) {
			orders.Add(1)
			return hang(r)
		}
		return false
	})
	m := l.master("a", sharedLock(t), func(s *master.Settings) { s.OrderTimeout = 20 * time.Millisecond })
	_, outcome, err := m.Match(t.Context(), master.MatchRequest{Player: "p", Group: "g"})
	if outcome != locks.OutcomeUnknown || locks.OutcomeOf(err) != locks.OutcomeUnknown {
		t.Errorf("outcome %s, error %v", outcome, err)
	}
	if n := orders.Load(); n != 1 {
		t.Errorf("%d orders were sent, want 1", n)
	}
	if events := l.journal.Events(history.KindOrder); len(events) != 1 || events[0].Outcome != "unknown" || events[0].Error != "timeout" {
		t.Errorf("order events: %+v", events)
	}
}

// TestRefusedOrderGoesElsewhere: a worker without space surely made no room.
func TestRefusedOrderGoesElsewhere(t *testing.T) {
	l := newLab(t, 3, nil)
	var refused atomic.Int64
	l.intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		if !isOrder(r) || refused.Add(1) > 2 {
			return false
		}
		rw.WriteHeader(http.StatusInsufficientStorage)
		_, _ = rw.Write([]byte(`{"error":{"kind":"capacity","message":"full"}}`))
		return true
	})
	m := l.master("a", sharedLock(t), nil)
	if match := l.seats("g", 1, m)[0]; !match.Created {
		t.Errorf("match %+v", match)
	}
	if n := l.journal.rooms("g"); n != 1 {
		t.Errorf("%d rooms, want 1", n)
	}
}

// TestLostLeaseStopsOrdering: the lease is lost, or runs out, during the look. Nothing
// is ordered under it; the match begins again with the next lease.
func TestLostLeaseStopsOrdering(t *testing.T) {
	for name, lose := range map[string]func(*fakeLease){
		"lost":    func(lease *fakeLease) { close(lease.lost) },
		"expired": func(lease *fakeLease) { lease.expires = clock.System().Now().Add(-time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 2, nil)
			bad := newLease()
			lock := &scripted{leases: []*fakeLease{bad, newLease()}}
			if name == "expired" {
				lose(bad)
			}
			var once sync.Once
			l.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
				if isLook(r) && name == "lost" {
					once.Do(func() {
						lose(bad)
						locktest.Eventually(t, "the loss is recorded", func() bool { return len(l.journal.Events(history.KindLost)) == 1 })
					})
				}
				return false
			})
			m := l.master("a", lock, nil)
			l.seats("g", 1, m)
			m.Close()
			acquired, ordered := l.journal.Events(history.KindAcquire), l.journal.Events(history.KindOrder)
			if len(acquired) != 2 || len(ordered) != 1 || ordered[0].Hold != acquired[1].Hold {
				t.Errorf("acquired %+v, ordered %+v: want one order under the second hold", acquired, ordered)
			}
			if n := len(l.journal.Events(history.KindRelease)); n != 2 {
				t.Errorf("%d releases, want 2: a lost lease is released too", n)
			}
		})
	}
}

// TestAReleaseIsOnRecordBeforeItIsSent: a master that is killed with its release under
// way has left its hold, and only a record from before says so.
func TestAReleaseIsOnRecordBeforeItIsSent(t *testing.T) {
	l := newLab(t, 1, nil)
	var sent atomic.Int64
	lease := newLease()
	lease.released = func() error {
		if n, recorded := sent.Add(1), len(l.journal.Events(history.KindReleasing)); recorded < int(n) {
			t.Errorf("release %d was sent, and %d are on record", n, recorded)
		}
		return nil
	}
	m := l.master("a", &scripted{leases: []*fakeLease{lease}}, nil)
	l.seats("g", 1, m)
	m.Close()
	if sent.Load() == 0 {
		t.Error("nothing was released")
	}
}

// TestHoldsLastAsLongAsTheSettingsWant: a scenario that breaks a holder must find one.
func TestHoldsLastAsLongAsTheSettingsWant(t *testing.T) {
	const hold = 30 * time.Millisecond
	l := newLab(t, 1, nil)
	m := l.master("a", sharedLock(t), func(s *master.Settings) { s.Hold = hold })
	l.seats("g", 1, m)
	m.Close()
	acquired, released := l.journal.Events(history.KindAcquire), l.journal.Events(history.KindReleasing)
	if len(acquired) != 1 || len(released) != 1 || released[0].AtNS-acquired[0].AtNS < int64(hold) {
		t.Errorf("acquired %+v, released %+v: want %v between", acquired, released, hold)
	}
}

// TestWaitIsGivenUp: a room turns up while the lock is held by somebody else, or its servers cannot be
// reached. Whatever the lock says of that when it is told to stop, it was called off.
func TestWaitIsGivenUp(t *testing.T) {
	for name, test := range map[string]struct {
		err     error // of the lock; nil: it is held by somebody else
		outcome string
	}{
		"held":        {nil, "failed"},
		"unavailable": {fmt.Errorf("%w: %w: %w", locks.ErrNotAcquired, locks.ErrUnavailable, context.Canceled), "failed"},
		"unknown":     {fmt.Errorf("%w: %w", locks.ErrUnknown, context.Canceled), "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 2, nil)
			var lock locks.Locker = &scripted{before: func(ctx context.Context) error {
				<-ctx.Done()
				return test.err
			}}
			release := func() error { return nil }
			if test.err == nil {
				lock = sharedLock(t)
				held, err := lock.Acquire(t.Context(), "g")
				must.Do(t, err)
				release = func() error { return held.Release(t.Context()) }
			}
			m := l.master("a", lock, nil)
			done := make(chan master.Match, 1)
			go func() { done <- l.seats("g", 1, m)[0] }()
			locktest.Eventually(t, "the match waits for the lock", func() bool { return m.Locker.Status().Waiting == 1 })
			other := l.master("b", &scripted{leases: []*fakeLease{newLease()}}, nil) // another lock
			made := l.seats("g", 1, other)[0]
			if match := <-done; match.ID != made.ID || match.Created {
				t.Errorf("match %+v, want a seat in %+v", match, made)
			}
			locktest.Eventually(t, "the wait ends", func() bool { return m.Locker.Status().Waiting == 0 })
			if err := release(); err != nil {
				t.Error(err)
			}
			m.Close()
			acquired := l.journal.Events(history.KindAcquire)
			i := slices.IndexFunc(acquired, func(e history.Event) bool { return e.Node == "a" })
			if i < 0 || acquired[i].Outcome != test.outcome || acquired[i].Error != "canceled" {
				t.Errorf("acquisitions: %+v", acquired)
			}
		})
	}
}

// TestLockErrors: what the lock says reaches the player, and is surely no seat.
func TestLockErrors(t *testing.T) {
	for _, test := range []struct {
		err  error
		kind string
	}{
		{fmt.Errorf("x: %w: %w", locks.ErrNotAcquired, locks.ErrUnavailable), "unavailable"},
		{fmt.Errorf("x: %w: %w", locks.ErrNotAcquired, context.DeadlineExceeded), "timeout"},
		{locks.ErrUnknown, "unknown"},
	} {
		l := newLab(t, 1, nil)
		m := l.master("a", &scripted{before: func(context.Context) error { return test.err }}, nil)
		_, outcome, err := m.Match(t.Context(), master.MatchRequest{Player: "p", Group: "g"})
		if locks.ErrorKind(err) != test.kind || outcome != locks.OutcomeFailed {
			t.Errorf("lock error %v: outcome %s, error %v", test.err, outcome, err)
		}
		if n := l.journal.rooms(""); n != 0 {
			t.Errorf("%d rooms were made without the lock", n)
		}
	}
}

// TestNoWorkerReachable: nobody answers, so nothing can be known or ordered.
func TestNoWorkerReachable(t *testing.T) {
	l := newLab(t, 2, nil)
	l.intercept(func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.WriteHeader(http.StatusBadGateway)
		return true
	})
	m := l.master("a", sharedLock(t), func(s *master.Settings) { s.ReadyTimeout = time.Millisecond })
	if _, outcome, err := m.Match(t.Context(), master.MatchRequest{Player: "p", Group: "g"}); err == nil || outcome != locks.OutcomeFailed {
		t.Errorf("outcome %s, error %v", outcome, err)
	}
	if n := len(l.journal.Events(history.KindOrder)); n != 0 {
		t.Errorf("%d orders", n)
	}
}

// TestBusyWorkerIsAskedAgain: a worker that is slow to answer but speaks through its
// feed is not passed over; its room is found, and no other one is ordered.
func TestBusyWorkerIsAskedAgain(t *testing.T) {
	l := newLab(t, 2, nil)
	m := l.master("a", &scripted{leases: []*fakeLease{newLease()}}, func(s *master.Settings) {
		s.SeatTimeout, s.LookTimeout, s.SuspectLookTimeout, s.FeedSilence = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond, time.Hour
		s.MatchTimeout = time.Minute
	})
	first := l.seats("g", 1, m)[0]
	var busy atomic.Int64
	busy.Store(4)
	l.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		return workerOf(r) == first.Worker && !isFeed(r) && busy.Add(-1) >= 0 && hang(r)
	})
	match, outcome, err := m.Match(t.Context(), master.MatchRequest{Player: "p2", Group: "g"})
	if err != nil || outcome != locks.OutcomeOK || match.ID != first.ID {
		t.Errorf("match %+v, %s, %v although %+v has seats", match, outcome, err, first)
	}
	if n := len(l.journal.Events(history.KindOrder)); n != 1 {
		t.Errorf("%d orders, want the first only", n)
	}
}

// TestStuckSeatMovesOn: the room with most seats does not answer, nor does its worker
// speak; the next one does.
func TestStuckSeatMovesOn(t *testing.T) {
	l := newLab(t, 2, func(s *worker.Settings) { s.MaxRooms = 1 })
	broken := &scripted{leases: []*fakeLease{newLease()}}
	m := l.master("a", broken, func(s *master.Settings) {
		s.SeatTimeout, s.LookTimeout, s.SuspectLookTimeout = 300*time.Millisecond, time.Second, 300*time.Millisecond
		s.FeedSilence = time.Nanosecond // as if the feeds were silent
	})
	var stuck atomic.Value
	stuck.Store("")
	l.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		return workerOf(r) == stuck.Load() && !isFeed(r) && !isOrder(r) && hang(r)
	})
	first := l.seats("g", 1, m)[0]
	stuck.Store(first.Worker)
	match, outcome, err := m.Match(t.Context(), master.MatchRequest{Player: "p2", Group: "g"})
	if err != nil || outcome != locks.OutcomeOK || match.Worker == first.Worker {
		t.Errorf("match %+v, %s, %v after %+v was stuck", match, outcome, err, first)
	}
	orders := l.journal.Events(history.KindOrder)
	if last := orders[len(orders)-1]; !slices.Equal(last.Unreachable, []string{first.Worker}) {
		t.Errorf("order %+v does not list %s", last, first.Worker)
	}
}

// TestCutConnections: kept-alive connections that a reset has cut cost no match and
// make no unknown outcome.
func TestCutConnections(t *testing.T) {
	l := newLab(t, 2, func(s *worker.Settings) { s.Capacity = 1000 })
	m := l.master("a", sharedLock(t), nil)
	for i := range 5 {
		l.seats(fmt.Sprintf("g%d", i), 20, m)
		for _, server := range l.servers {
			server.CloseClientConnections()
		}
	}
	for _, e := range l.journal.Events(history.KindOrder) {
		if e.Outcome != "ok" {
			t.Errorf("order %+v", e)
		}
	}
}
