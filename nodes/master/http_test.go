package master_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/httpapi"
	"locklab/internal/httpapi/httpapitest"
	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/nodes/master"
	"locklab/nodes/worker"
)

func ask(t testing.TB, method, url, body string) (int, string) {
	t.Helper()
	return httpapitest.Ask(t, method, url, body, nil)
}

// TestAPI runs a master as its process does and talks to it over HTTP.
func TestAPI(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	l := newLab(t, 2, func(s *worker.Settings) { s.Capacity = 2 })
	lock := master.Track(sharedLock(t), nil)
	s := master.DefaultSettings()
	s.Name, s.Zone, s.Workers, s.Lock = "a", "a", l.addrs, "local"
	ctx, cancel := context.WithCancel(t.Context())
	addrs, done := make(chan net.Addr, 1), make(chan error, 1)
	deps := l.deps(nil)
	deps.Locker, deps.Mounts = lock, map[string]http.Handler{
		"/v1/workload/": http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusTeapot) }),
	}
	m := master.New(ctx, s, deps)
	go func() { done <- m.Serve(ctx, "127.0.0.1:0", func(a net.Addr) { addrs <- a }) }()
	url := "http://" + (<-addrs).String()

	status, text := ask(t, "POST", url+"/v1/match", `{"player":"p1","group":"g"}`)
	var match master.Match
	if err := json.Unmarshal([]byte(text), &match); err != nil || status != http.StatusOK || !match.Created || match.ID == "" || match.Worker == "" {
		t.Errorf("first match: %d %s", status, text)
	}
	if status, text := ask(t, "POST", url+"/v1/match", `{"player":"p2","group":"g"}`); status != http.StatusOK || !strings.Contains(text, match.ID) || !strings.Contains(text, `"created":false`) {
		t.Errorf("second match: %d %s", status, text)
	}
	for _, body := range []string{`{"player":"p"}`, `{"player":"p","group":"g","x":1}`, `{"player":"p","group":"` + strings.Repeat("x", 129) + `"}`} {
		if status, text := ask(t, "POST", url+"/v1/match", body); status != http.StatusBadRequest || !strings.Contains(text, `"kind":"invalid"`) {
			t.Errorf("body %s: %d %s", body, status, text)
		}
	}
	if status, _ := ask(t, "GET", url+"/v1/workload/mutex", ""); status != http.StatusTeapot {
		t.Errorf("mounted handler: %d", status)
	}
	lease, err := lock.Acquire(t.Context(), "raw") // as a mounted workload does
	must.Do(t, err)
	_, text = ask(t, "GET", url+"/v1/status", "")
	var shown master.Status
	must.Do(t, json.Unmarshal([]byte(text), &shown))
	if !slices.ContainsFunc(shown.Holds, func(h master.Held) bool { return h.Resource == "raw" && h.AgeNS > 0 }) {
		t.Errorf("status %s", text)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if _, text = ask(t, "GET", url+"/v1/status", ""); !strings.Contains(text, `"holds":[]`) {
		t.Errorf("status after the release: %s", text)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
	if _, outcome, err := m.Match(t.Context(), master.MatchRequest{Player: "p3", Group: "g"}); err == nil || outcome != locks.OutcomeFailed {
		t.Errorf("a match of one that is closed: %s, %v", outcome, err)
	}
}

// TestWhoHasLeftIsNotServed: players gave up while nobody accepted their connections, as that
// of a master that stood still. Nobody asks for the lock, or makes a room, for them; who waits
// is served.
func TestWhoHasLeftIsNotServed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("whether somebody has hung up is told on Linux only")
	}
	l := newLab(t, 1, nil)
	var acquired atomic.Int64
	m := l.master("a", &scripted{leases: []*fakeLease{newLease()}, before: func(context.Context) error {
		acquired.Add(1)
		return nil
	}}, nil)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.Do(t, err)
	post := func(player, group string) net.Conn {
		t.Helper()
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
		must.Do(t, err)
		body := fmt.Sprintf(`{"player":%q,"group":%q}`, player, group)
		if _, err := fmt.Fprintf(conn, "POST /v1/match HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	for i := range 50 {
		must.Do(t, post(fmt.Sprintf("gone-%d", i), fmt.Sprintf("gone-%d", i)).Close())
	}
	waits := post("waits", "waits")
	defer func() { _ = waits.Close() }()

	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- httpapi.Serve(ctx, listener, m.Handler(), discard()) }()
	answer, err := http.ReadResponse(bufio.NewReader(waits), nil)
	must.Do(t, err)
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // it was read
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("who waits got %s %s: %v", answer.Status, text, err)
	}
	cancel()
	if err := <-served; err != nil { // all requests are over
		t.Error(err)
	}
	if made := l.journal.rooms(""); made != 1 || acquired.Load() != 1 {
		t.Errorf("%d rooms were made, and the lock was asked for %d times: want 1, for who waits", made, acquired.Load())
	}
}

// TestFeedSurvives: a feed that breaks, hangs or is none is followed again, and tells of rooms that others ordered.
func TestFeedSurvives(t *testing.T) {
	for _, how := range []string{"breaks", "hangs", "garbage"} {
		t.Run(how, func(t *testing.T) {
			l := newLab(t, 1, nil)
			var feeds atomic.Int64
			l.intercept(func(rw http.ResponseWriter, r *http.Request) bool {
				if !isFeed(r) || feeds.Add(1) > 1 {
					return false
				}
				switch how {
				case "hangs":
					return hang(r)
				case "garbage":
					_, _ = rw.Write([]byte("{\"rev\":1}\n{\"rev\":"))
				}
				return true
			})
			lock := &scripted{before: func(ctx context.Context) error { <-ctx.Done(); return locks.ErrNotAcquired }}
			m := l.master("a", lock, func(s *master.Settings) { s.FeedReset, s.ReadyTimeout = 300*time.Millisecond, time.Minute })
			locktest.Eventually(t, "another feed", func() bool { return feeds.Load() > 1 })
			made := l.seats("g", 1, l.master("b", sharedLock(t), nil))[0]
			if match := l.seats("g", 1, m)[0]; match.ID != made.ID {
				t.Errorf("%+v, want a seat in %+v", match, made)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	const workers = `"workers":[{"name":"w1","zone":"a","addr":"127.0.0.1:1"}]`
	s, err := master.ParseSettings([]byte(`{"name":"a","hold":"1s",` + workers + `}`))
	if err != nil || s.Hold != time.Second || s.SeatTimeout != master.DefaultSettings().SeatTimeout {
		t.Errorf("got %+v, %v", s, err)
	}
	far, err := master.ParseSettings([]byte(`{"name":"a","patience":"10s","second":"3s",` + workers + `}`))
	if usual := master.DefaultSettings(); err != nil || far.MatchTimeout != 4*usual.MatchTimeout || far.AcquireTimeout != 4*usual.AcquireTimeout ||
		far.SeatTimeout != 3*usual.SeatTimeout || far.FeedSilence != 3*usual.FeedSilence {
		t.Errorf("the limits do not follow patience and round trips: %+v, %v", far, err)
	}
	text, err := json.Marshal(s)
	must.Do(t, err)
	if again, err := master.ParseSettings(text); err != nil || fmt.Sprint(again) != fmt.Sprint(s) {
		t.Errorf("%s came back as %+v, %v", text, again, err)
	}
}
