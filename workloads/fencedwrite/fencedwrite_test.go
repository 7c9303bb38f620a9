package fencedwrite_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/workloads/check"
	"locklab/workloads/check/record"
	"locklab/workloads/fencedwrite"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
	"locklab/workloads/loadgen"
	"locklab/workloads/mutex"
	"locklab/workloads/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "secret"

func open(t *testing.T, worker, dir string, rec history.Recorder) *fencedwrite.Store {
	t.Helper()
	s, err := fencedwrite.NewStore(fencedwrite.StoreConfig{Node: worker, Token: secret, Dir: dir, Recorder: rec})
	must.Do(t, err)
	return s
}

func ask(t *testing.T, h http.Handler, verb, body, token string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, fencedwrite.StorePath+verb, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String()))
}

// TestTheStoreChecks: it refuses what comes with a lower token than it has seen, also
// before it was started anew and although its last line was torn; without one it takes all.
func TestTheStoreChecks(t *testing.T) {
	dir, rec := t.TempDir(), &historytest.Recorder{}
	file, err := os.OpenFile(filepath.Join(dir, "store.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must.Do(t, err)
	defer func() { _ = file.Close() }()
	for i, c := range []struct {
		verb, resource string
		token          int
		want           string
	}{
		{"read", "r1", 5, `200 {"version":0}`},
		{"write", "r1", 5, `200 {"version":1}`},
		{"read", "r1", 7, `200 {"version":1}`},
		{"write", "r1", 5, "409"},
		{"read", "r1", 6, "409"},
		{"write", "r2", 1, `200 {"version":1}`}, // tokens of one resource bind no other
		{"write", "r1", 7, `200 {"version":2}`},
		{"write", "r1", 0, `200 {"version":3}`}, // shows none
	} {
		_, err := file.WriteString(`{"resource":"r1","vers`) // a disk was full
		must.Do(t, err)
		s := open(t, "w1", dir, rec)
		body := fmt.Sprintf(`{"resource":%q,"hold":"h","by":"m1","token":%d,"base":%d}`, c.resource, c.token, i)
		if got := ask(t, s, c.verb, body, secret); !strings.HasPrefix(got, c.want) || strings.HasPrefix(got, "409") != strings.Contains(got, `"fenced"`) {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
		if got := ask(t, s, c.verb, body, "guess"); !strings.HasPrefix(got, "401") {
			t.Errorf("%d: without the token: %s", i, got)
		}
		s.Close()
	}
	var states []string
	for _, e := range rec.Events() {
		states = append(states, fmt.Sprint(e.Kind, " ", e.State, " ", e.Version))
		if e.Node != "w1" || e.Client != "m1" || e.Hold != "h" || e.AtNS == 0 {
			t.Errorf("%+v", e)
		}
	}
	want := []string{"read  0", "write accepted 1", "read  1", "write refused 1", "read refused 1", "write accepted 1", "write accepted 2", "write accepted 3"}
	if !slices.Equal(states, want) {
		t.Errorf("recorded %q, want %q", states, want)
	}
}

// lapsing grants everybody at once, as a lock does whose leases end too early. Its tokens
// grow all the same, if it has some.
type lapsing struct {
	tokens bool
	own    map[string]*ownStore // of its service, if it keeps data, by resource

	mu    sync.Mutex
	token locks.Token
}

func (l *lapsing) Acquire(_ context.Context, resource string) (locks.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token++
	return grant{l, l.token, resource}, nil
}

func (*lapsing) Close() error { return nil }

type grant struct {
	lock     *lapsing
	token    locks.Token
	resource string
}

func (g grant) Token() (locks.Token, bool)  { return g.token, g.lock.tokens }
func (grant) Expires() (time.Time, bool)    { return time.Time{}, false }
func (grant) Lost() <-chan struct{}         { return nil }
func (grant) Release(context.Context) error { return nil }
func (g grant) Store() (locks.Store, bool) {
	own, ok := g.lock.own[g.resource]
	return ownStoreOf{own, g.token}, ok
}

// judged is what holders on two masters come to, with a store in each of two workers.
func judged(t *testing.T, l *lapsing, unfenced bool) ([]history.Event, result.Row) {
	t.Helper()
	rec := &historytest.Recorder{}
	var stores []fencedwrite.Address
	for _, name := range []string{"w1", "w2"} {
		s := open(t, name, t.TempDir(), rec)
		h := httptest.NewServer(s)
		t.Cleanup(s.Close)
		t.Cleanup(h.Close)
		stores = append(stores, fencedwrite.Address{Name: name, URL: h.URL})
	}
	var masters []loadgen.Master
	for _, name := range []string{"m1", "m2"} {
		w := fencedwrite.Handler(fencedwrite.Config{
			Config: mutex.Config{Node: name, Locker: l, Recorder: rec}, Stores: stores, StoreToken: secret,
		})
		h := httptest.NewServer(w)
		t.Cleanup(w.Close)
		t.Cleanup(h.Close)
		masters = append(masters, loadgen.Master{Name: name, URL: h.URL})
	}
	p := mutex.Load{
		Clients: 4, Resources: 2, Hold: time.Millisecond, Timeout: 2500 * time.Millisecond,
		Writes: true, Unfenced: unfenced, Seed: 5, Duration: time.Second,
	}
	must.Do(t, mutex.Client{Masters: masters, Load: p, StartNS: clock.Mono(), Recorder: rec}.Run(t.Context()))
	events := append([]history.Event{{Kind: history.KindRun, Run: &history.Run{Schema: history.Schema, Lock: "mine", Scenario: "mine", Repeat: 1, DurationNS: int64(time.Second), Workload: history.FencedWrite}}}, rec.Events()...)
	run, err := record.Of(events)
	must.Do(t, err)
	return events, check.Judge(run)
}

// TestFencingKeepsTheStoreRight although the lock excludes nobody.
func TestFencingKeepsTheStoreRight(t *testing.T) {
	for name, c := range map[string]struct{ tokens, unfenced, keeps bool }{
		"on":        {true, false, true},
		"off":       {true, true, false},
		"no tokens": {false, false, false},
	} {
		events, f := judged(t, &lapsing{tokens: c.tokens}, c.unfenced)
		wronged := f.Figures["stale_writes"] > 0 && f.Figures["lost_updates"] > 0
		if wronged == c.keeps || (f.Figures["fenced_writes"] > 0) != c.keeps || f.Verdict.Sound.Code == result.Contradiction || f.Figures["overlaps"] == 0 {
			t.Errorf("fencing %s: %v, %+v", name, f.Figures, f.Verdict)
		}
		stores := map[string]string{}
		for _, e := range events {
			if e.Kind == history.KindWrite {
				stores[e.Resource] += e.Node
			}
		}
		if strings.Contains(stores["r1"], "w1") == strings.Contains(stores["r2"], "w1") {
			t.Errorf("fencing %s: both resources are in one store", name)
		}
	}
}

// ownStore takes writes of the newest hold that it has served, as a service does that knows
// by itself when a lease is over. Now and then nobody is told, or it is not reached.
type ownStore struct {
	mu      sync.Mutex
	asked   int
	version uint64
	newest  locks.Token
}

// ownStoreOf is the store for one hold.
type ownStoreOf struct {
	*ownStore
	token locks.Token
}

func (s ownStoreOf) Read(context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest = max(s.newest, s.token)
	return s.version, nil
}

func (s ownStoreOf) Write(_ context.Context, checked bool) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	unknown := fmt.Errorf("no answer: %w", locks.ErrUnknown)
	switch {
	case s.asked%7 == 0:
		return 0, fmt.Errorf("not sent: %w", locks.ErrUnavailable)
	case s.asked%7 == 1:
		return 0, unknown
	case !checked:
		return 0, fmt.Errorf("want a comparison: %w", locks.ErrNotHeld)
	case s.token < s.newest:
		return 0, fmt.Errorf("late: %w", locks.ErrNotHeld)
	}
	s.version++
	if s.asked%7 == 2 { // it was written all the same
		return 0, unknown
	}
	return s.version, nil
}

// TestALockWithItsOwnStore: the leases' store is written to, the writers record it, and
// writes that nobody knows the outcome of make no others wrong.
func TestALockWithItsOwnStore(t *testing.T) {
	events, f := judged(t, &lapsing{tokens: true, own: map[string]*ownStore{"r1": {}, "r2": {}}}, false)
	states := map[string]int{}
	for _, e := range events {
		if e.Kind != history.KindWrite && e.Kind != history.KindRead {
			continue
		}
		states[string(e.Kind)+" "+e.State]++
		if e.Node != e.Client || e.Token == 0 || e.State != history.WriteAccepted && e.Kind == history.KindWrite && e.Version != e.Base {
			t.Fatalf("%+v", e)
		}
	}
	if len(states) != 4 || states["read "] == 0 || states["write accepted"] == 0 || states["write refused"] == 0 || states["write unknown"] == 0 {
		t.Errorf("recorded %v", states)
	}
	if f.Figures["stale_writes"] != 0 || f.Figures["lost_updates"] != 0 || f.Verdict.Sound.Code == result.Contradiction {
		t.Errorf("of a store that checks: %v, %+v", f.Figures, f.Verdict)
	}
}

// ending is a hold that is told to be lost, and that ends by the clock.
type ending struct {
	grant
	lost chan struct{}
	ends time.Time
}

func (e ending) Lost() <-chan struct{}      { return e.lost }
func (e ending) Expires() (time.Time, bool) { return e.ends, true }

// TestWhoKnowsWritesNothing: a hold that is lost during the work, or over at its end though nothing has told so,
// comes to no point and to no write, and one that lasts does.
func TestWhoKnowsWritesNothing(t *testing.T) {
	for _, c := range []struct {
		loses, ends time.Duration
		want        uint64
	}{{time.Minute, 3 * time.Hour, 0}, {2 * time.Hour, time.Minute, 0}, {2 * time.Hour, 3 * time.Hour, 1}} {
		synctest.Test(t, func(t *testing.T) {
			own := &ownStore{asked: 2} // the next is written and answered
			points := uint64(0)
			l := &lapsing{tokens: true, own: map[string]*ownStore{"r1": own}}
			w := fencedwrite.Handler(fencedwrite.Config{Config: mutex.Config{
				Node: "m1", Locker: l, Recorder: &historytest.Recorder{}, Granted: func(string) { points++ },
			}})
			defer w.Close()
			lost := make(chan struct{})
			timer := time.AfterFunc(c.loses, func() { close(lost) })
			defer timer.Stop()
			hold := ending{grant{l, 1, "r1"}, lost, time.Now().Add(c.ends)}
			w.Use(t.Context(), &mutex.Held{Lease: hold, Load: &mutex.Load{Hold: time.Hour}, ID: "h", Resource: "r1", Fence: 1})
			if own.version != c.want || points != c.want {
				t.Errorf("lost after %v, over after %v: %d writes, %d points, want %d", c.loses, c.ends, own.version, points, c.want)
			}
		})
	}
}
