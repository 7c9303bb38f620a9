package master_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/locks/locktest"
	"locklab/nodes/master"
	"locklab/nodes/worker"
)

// looksMax is how many looks a master has under way at one worker.
const looksMax = 64

// blind lets no feed say anything of rooms, so that all who come have to look.
func blind(rw http.ResponseWriter, r *http.Request) bool {
	_, _ = fmt.Fprintf(rw, "{\"type\":\"snapshot\",\"worker\":%q,\"incarnation\":\"blind\"}\n", workerOf(r)) // the test fails without it
	_ = http.NewResponseController(rw).Flush()
	return hang(r)
}

// press starts a master that does not know of any room, and whose lock grants to everybody at
// once. It counts who came so far as to look.
func (l *lab) press(lookTimeout time.Duration) (m *master.Master, acquired *atomic.Int64) {
	acquired = new(atomic.Int64)
	return l.master("a", &scripted{leases: []*fakeLease{newLease()}, before: func(context.Context) error {
		acquired.Add(1)
		return nil
	}}, func(s *master.Settings) {
		s.FeedSilence, s.FeedReset = time.Minute, time.Minute // it speaks, says the blind feed once
		s.LookTimeout, s.SuspectLookTimeout = lookTimeout, lookTimeout
	}), acquired
}

// stuck has the worker answer no look until the channel is closed. It counts the looks, and
// those who hung up before.
func (l *lab) stuck() (answered chan struct{}, looks, left *atomic.Int64) {
	answered, looks, left = make(chan struct{}), new(atomic.Int64), new(atomic.Int64)
	l.intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		switch {
		case isFeed(r):
			return blind(rw, r)
		case isLook(r):
			looks.Add(1)
			select {
			case <-answered:
			case <-r.Context().Done():
				left.Add(1)
			}
		}
		return false
	})
	return answered, looks, left
}

// TestSlowLooksAreShared: many come at once while a worker does not answer, as after a master
// stood still. What the worker gets is bounded, and all are served as soon as it answers.
func TestSlowLooksAreShared(t *testing.T) {
	const groups, players = 10, 600
	l := newLab(t, 1, func(s *worker.Settings) { s.Capacity = players })
	b := l.master("b", sharedLock(t), nil)
	for g := range groups {
		l.seats(fmt.Sprintf("g%d", g), 1, b)
	}
	answered, looks, _ := l.stuck()
	m, acquired := l.press(10 * time.Second)
	var served sync.WaitGroup
	for i := range players {
		served.Go(func() {
			req := master.MatchRequest{Player: fmt.Sprintf("p%d", i), Group: fmt.Sprintf("g%d", i%groups)}
			if match, outcome, err := m.Match(t.Context(), req); err != nil || match.Created {
				t.Errorf("match %+v: %+v, %s, %v: want a seat in the room that is there", req, match, outcome, err)
			}
		})
	}
	locktest.Eventually(t, "all slots are taken, and all players look", func() bool {
		return looks.Load() >= groups && acquired.Load() == players
	})
	close(answered)
	served.Wait()
	if n := looks.Load(); n > players/2 {
		t.Errorf("%d players looked %d times: want one look for all of a group who wait", players, n)
	}
}

// TestSlowLooksKeepTheirConnections: who gives up a look and begins another one does not hang
// up, so that the other one would need a new connection, and is served in the end.
func TestSlowLooksKeepTheirConnections(t *testing.T) {
	l := newLab(t, 1, nil)
	l.seats("g", 1, l.master("b", sharedLock(t), nil))
	answered, looks, left := l.stuck()
	m, _ := l.press(20 * time.Millisecond)
	var served sync.WaitGroup
	served.Go(func() { l.seats("g", 1, m) })
	locktest.Eventually(t, "all slots are taken", func() bool { return looks.Load() == looksMax })
	if n := left.Load(); n != 0 {
		t.Errorf("%d of %d looks were hung up on", n, looks.Load())
	}
	close(answered)
	served.Wait()
}

// TestNobodySharesALookThatHasBegun: what it shows may be older than the hold.
func TestNobodySharesALookThatHasBegun(t *testing.T) {
	l := newLab(t, 1, nil)
	b := l.master("b", sharedLock(t), nil)
	var looks atomic.Int64
	answered := make(chan struct{})
	l.intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		switch {
		case isFeed(r):
			return blind(rw, r)
		case !isLook(r) || looks.Load() >= looksMax:
			return false
		}
		old := httptest.NewRecorder()
		l.workers[0].Handler().ServeHTTP(old, r)
		looks.Add(1)
		<-answered
		_, _ = rw.Write(old.Body.Bytes()) // who asked has not left
		return true
	})
	m, acquired := l.press(10 * time.Second)
	var served sync.WaitGroup
	for i := range looksMax {
		served.Go(func() { l.seats("g", 1, m) })
		locktest.Eventually(t, "a look has begun", func() bool { return looks.Load() == int64(i+1) })
	}
	l.seats("g", 1, b) // orders a room that none of the looks has seen
	served.Go(func() {
		match, _, err := m.Match(t.Context(), master.MatchRequest{Player: "late", Group: "g"})
		if err != nil || match.Created {
			t.Errorf("who came after a room was made got %+v, %v: want a seat in it", match, err)
		}
	})
	locktest.Eventually(t, "the last one looks", func() bool { return acquired.Load() == looksMax+1 })
	close(answered)
	served.Wait()
}
