package master_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/nodes/master"
	"locklab/nodes/worker"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal is what everybody in a test records.
type journal struct{ historytest.Recorder }

// rooms counts the rooms that were made for a group, "" for all groups.
func (j *journal) rooms(group string) int {
	n := 0
	for _, e := range j.Events(history.KindRoom) {
		if e.State == history.RoomStarting && (group == "" || e.Resource == group) {
			n++
		}
	}
	return n
}

// interceptor stands in front of a worker: it may answer itself and return true.
type interceptor func(rw http.ResponseWriter, r *http.Request) bool

// lab is a few workers and masters over real HTTP in one process.
type lab struct {
	t           testing.TB
	journal     *journal
	addrs       []master.WorkerAddr
	servers     []*httptest.Server
	mu          sync.Mutex
	interceptor interceptor
}

// newLab starts n workers, named w1 to wn, by turns in zones a and c.
func newLab(t testing.TB, n int, change func(*worker.Settings)) *lab {
	t.Helper()
	l := &lab{t: t, journal: &journal{}}
	for i := range n {
		s := worker.DefaultSettings()
		s.Name = fmt.Sprintf("w%d", i+1)
		s.Boot, s.Life = 10*time.Millisecond, time.Hour
		if change != nil {
			change(&s)
		}
		w := worker.New(s, l.journal)
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			l.mu.Lock()
			interceptor := l.interceptor
			l.mu.Unlock()
			r.Header.Set("X-Worker", s.Name)
			if interceptor == nil || !interceptor(rw, r) {
				w.ServeHTTP(rw, r)
			}
		}))
		t.Cleanup(func() {
			server.CloseClientConnections()
			server.Close()
			w.Close()
		})
		l.servers = append(l.servers, server)
		l.addrs = append(l.addrs, master.WorkerAddr{
			Name: s.Name, Zone: []string{"a", "c"}[i%2], Addr: server.Listener.Addr().String(),
		})
	}
	return l
}

func (l *lab) intercept(m interceptor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.interceptor = m
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// deps are those of a master with this lock.
func (l *lab) deps(locker locks.Locker) master.Deps {
	return master.Deps{Recorder: l.journal, Locker: master.Track(locker, nil), Log: discard(), Seed: 1}
}

// master starts a master with its feeds running.
func (l *lab) master(name string, locker locks.Locker, change func(*master.Settings)) *master.Master {
	l.t.Helper()
	s := master.DefaultSettings()
	s.Name, s.Zone, s.Workers = name, "a", slices.Clone(l.addrs)
	// A loaded machine must not make a healthy worker look dead.
	s.MatchTimeout, s.AcquireTimeout = 30*time.Second, 20*time.Second
	s.LookTimeout, s.SuspectLookTimeout, s.SeatTimeout, s.OrderTimeout = 10*time.Second, 10*time.Second, 10*time.Second, 10*time.Second
	if change != nil {
		change(&s)
	}
	m := master.New(context.WithoutCancel(l.t.Context()), s, l.deps(locker))
	l.t.Cleanup(m.Close)
	must.Do(l.t, m.Ready(l.t.Context()))
	return m
}

// seats asks the masters in turn for seats for n players of a group, all at once.
func (l *lab) seats(group string, n int, masters ...*master.Master) []master.Match {
	l.t.Helper()
	matches := make([]master.Match, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			req := master.MatchRequest{Player: fmt.Sprintf("%s-p%d", group, i), Group: group}
			match, outcome, err := masters[i%len(masters)].Match(l.t.Context(), req)
			if err != nil || outcome != locks.OutcomeOK {
				l.t.Errorf("match %+v: %s, %v", req, outcome, err)
			}
			matches[i] = match
		})
	}
	wg.Wait()
	return matches
}

// hang is an answer that never comes. The server notices that the client has left
// only once the body was read.
func hang(r *http.Request) bool {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
	return true
}

func isOrder(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == "/v1/rooms" }

func isLook(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.Path == "/v1/rooms" }
func isFeed(r *http.Request) bool { return r.URL.Path == "/v1/feed" }
func workerOf(r *http.Request) string {
	return r.Header.Get("X-Worker")
}

// scripted is a lock that grants at once, to everybody, leases as the script says.
type scripted struct {
	mu     sync.Mutex
	leases []*fakeLease // the last is granted again and again
	before func(ctx context.Context) error
}

type fakeLease struct {
	token   locks.Token
	expires time.Time
	lost    chan struct{}

	released func() error // is what it says when it is
}

func newLease() *fakeLease {
	return &fakeLease{lost: make(chan struct{}), released: func() error { return nil }}
}

func (s *scripted) Acquire(ctx context.Context, _ string) (locks.Lease, error) {
	if s.before != nil {
		if err := s.before(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lease := s.leases[0]
	if len(s.leases) > 1 {
		s.leases = s.leases[1:]
	}
	return lease, nil
}

func (s *scripted) Close() error { return nil }

func (l *fakeLease) Token() (locks.Token, bool)    { return l.token, l.token != 0 }
func (l *fakeLease) Expires() (time.Time, bool)    { return l.expires, !l.expires.IsZero() }
func (l *fakeLease) Lost() <-chan struct{}         { return l.lost }
func (l *fakeLease) Release(context.Context) error { return l.released() }
