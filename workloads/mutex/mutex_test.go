package mutex_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/locks"
	"locklab/workloads/check"
	"locklab/workloads/history"
	"locklab/workloads/mutex"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type memory struct {
	mu     sync.Mutex
	events []history.Event
}

func (m *memory) Record(e history.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, e)
}

func (m *memory) list() []history.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]history.Event{{Kind: history.KindRun, Run: &history.Run{Schema: history.Schema, Workload: "mutex"}}}, m.events...)
}

// server is a lock that all masters of a test share. The zero value is right.
type server struct {
	mu      sync.Mutex
	held    map[string]chan struct{}
	token   uint64
	broken  bool // excludes nobody
	refuses bool
	loses   bool // every lease is lost at once

	onRelease func() // nil: nobody looks

	messages atomic.Uint64
}

func (s *server) Close() error         { return nil }
func (s *server) MessagesSent() uint64 { return s.messages.Load() }

func (s *server) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	s.messages.Add(2)
	if s.refuses {
		return nil, fmt.Errorf("refused: %w: %w", locks.ErrNotAcquired, locks.ErrUnavailable)
	}
	for {
		s.mu.Lock()
		if s.held == nil {
			s.held = map[string]chan struct{}{}
		}
		busy := s.held[resource]
		if busy == nil || s.broken {
			s.token++
			l := &grant{server: s, resource: resource, token: s.token, free: make(chan struct{}), lost: make(chan struct{})}
			if s.loses {
				close(l.lost)
			}
			s.held[resource] = l.free
			s.mu.Unlock()
			return l, nil
		}
		s.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait: %w: %w", locks.ErrNotAcquired, ctx.Err())
		}
	}
}

type grant struct {
	server     *server
	resource   string
	token      uint64
	free, lost chan struct{}
	once       sync.Once
}

func (g *grant) Token() (locks.Token, bool) { return locks.Token(g.token), true }
func (g *grant) Expires() (time.Time, bool) { return time.Time{}, false }
func (g *grant) Lost() <-chan struct{}      { return g.lost }
func (g *grant) Release(context.Context) error {
	if g.server.onRelease != nil {
		g.server.onRelease()
	}
	g.once.Do(func() {
		g.server.mu.Lock()
		if g.server.held[g.resource] == g.free {
			delete(g.server.held, g.resource)
		}
		g.server.mu.Unlock()
		close(g.free)
	})
	if g.server.loses {
		return locks.ErrNotHeld
	}
	return nil
}

func plan() mutex.Plan {
	p := mutex.DefaultPlan()
	p.ID, p.Seed, p.Warmup, p.Duration, p.Clients, p.Resources = "t", 5, 50*time.Millisecond, 200*time.Millisecond, 4, 2
	return p
}

func masters(t *testing.T, n int, s *server, rec history.Recorder) []mutex.Master {
	t.Helper()
	var list []mutex.Master
	for i := range n {
		name := fmt.Sprint("m", i+1)
		w := mutex.Handler(name, s, rec)
		h := httptest.NewServer(w)
		t.Cleanup(w.Close)
		t.Cleanup(h.Close)
		list = append(list, mutex.Master{Name: name, URL: h.URL})
	}
	return list
}

func play(t *testing.T, s *server, p mutex.Plan) ([]history.Event, *check.Findings, mutex.Status) {
	t.Helper()
	rec := &memory{}
	c, err := mutex.NewClient(masters(t, 2, s, rec), p, rec)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := rec.list()
	return events, check.Events(events, check.Options{}), c.Progress()
}

// pipe is a recorder whose events have left the process only once they are flushed.
type pipe struct {
	memory
	flushed int
}

func (p *pipe) Flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flushed = len(p.events)
	return nil
}

// left are the holds whose release the file knows of.
func (p *pipe) left() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := map[string]bool{}
	for _, e := range p.events[:p.flushed] {
		if e.Kind == history.KindReleasing {
			left[e.Hold] = true
		}
	}
	return left
}

// TestAReleaseIsOnRecordBeforeItIsSent: a client that is killed with its release under
// way has left its hold, and only a record from before says so.
func TestAReleaseIsOnRecordBeforeItIsSent(t *testing.T) {
	rec, sent := &pipe{}, 0
	s := &server{}
	s.onRelease = func() {
		if sent++; len(rec.left()) < sent {
			t.Errorf("release %d was sent, and %d are on record", sent, len(rec.left()))
		}
	}
	p := plan()
	p.Clients, p.Resources = 1, 1
	c, err := mutex.NewClient(masters(t, 1, s, rec), p, rec)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if sent == 0 {
		t.Fatal("nothing was released")
	}
}

func TestARightLock(t *testing.T) {
	for name, rate := range map[string]float64{"closed": 0, "open": 300} {
		t.Run(name, func(t *testing.T) {
			p := plan()
			p.Rate = rate
			events, f, progress := play(t, &server{}, p)
			if f.Overlaps != 0 || f.TokensBroken != 0 || f.AcquiredOK == 0 || f.Holds == 0 || len(f.Incomplete) > 0 {
				t.Errorf("%+v", f)
			}
			if f.Hold.Quantile(0.5) < int64(p.Hold) || f.Acquire.Count() == 0 || !f.HasMessages || f.Fairness == 0 {
				t.Errorf("hold p50 %d, %+v", f.Hold.Quantile(0.5), f)
			}
			counts, open := map[history.Kind]uint64{}, map[string]bool{}
			for _, e := range events {
				counts[e.Kind]++
				switch e.Kind {
				case history.KindAcquire:
					if open[e.Hold] || e.Client == "" || e.SentNS < e.FromNS || e.AtNS < e.SentNS {
						t.Fatalf("event %+v", e)
					}
					open[e.Hold] = true
				case history.KindRelease:
					if !open[e.Hold] || e.AtNS < e.FromNS || e.Outcome != "ok" {
						t.Fatalf("event %+v", e)
					}
					delete(open, e.Hold)
				}
			}
			if len(open) != 0 || counts[history.KindAcquire] != counts[history.KindRelease] {
				t.Errorf("%d holds were not released: %v", len(open), counts)
			}
			if progress.Acquired != counts[history.KindAcquire] {
				t.Errorf("progress %+v of %v", progress, counts)
			}
		})
	}
}

func TestABrokenLock(t *testing.T) {
	if _, f, _ := play(t, &server{broken: true}, plan()); f.Overlaps == 0 {
		t.Errorf("no overlap was seen: %+v", f)
	}
}

func TestALockThatRefuses(t *testing.T) {
	_, f, progress := play(t, &server{refuses: true}, plan())
	if f.OK != 0 || f.Failed == 0 || f.Errors["unavailable"] != f.Failed || progress.Failed == 0 {
		t.Errorf("%+v, %+v", f, progress)
	}
	if f.Failed > 8*30 {
		t.Errorf("%d refusals in 200 ms: clients spin", f.Failed)
	}
}

func TestLostLeases(t *testing.T) {
	p := plan()
	p.Hold = time.Hour // only the loss ends it
	events, f, _ := play(t, &server{loses: true}, p)
	lost := 0
	for _, e := range events {
		if e.Kind == history.KindLost {
			lost++
		}
	}
	if lost == 0 || f.Overlaps != 0 {
		t.Errorf("%d losses, %+v", lost, f)
	}
}

// TestARestartedMasterStartsAgain replaces a master's process in the middle.
func TestARestartedMasterStartsAgain(t *testing.T) {
	s, rec := &server{}, &memory{}
	first := mutex.Handler("m1", s, rec)
	var current atomic.Pointer[mutex.Workload]
	current.Store(first)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.Load().ServeHTTP(w, r) }))
	defer h.Close()
	p := plan()
	p.Duration = 1500 * time.Millisecond
	c, err := mutex.NewClient([]mutex.Master{{Name: "m1", URL: h.URL}}, p, rec)
	if err != nil {
		t.Fatal(err)
	}
	second := mutex.Handler("m1", s, rec)
	defer second.Close()
	c.OnPhase = func(state string, _ int64) {
		if state == "measure" {
			first.Close()
			current.Store(second)
		}
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	status := ask(t, h.URL, "GET", "status", "")
	if !strings.Contains(status, `"state":"done"`) || strings.Contains(status, `"acquired":0,`) {
		t.Errorf("the second life: %s", status)
	}
	if f := check.Events(rec.list(), check.Options{}); f.Overlaps != 0 || f.AcquiredOK == 0 {
		t.Errorf("%+v", f)
	}
}

func TestInterrupt(t *testing.T) {
	rec := &memory{}
	p := plan()
	p.Duration, p.Hold = time.Hour, 20*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	c, err := mutex.NewClient(masters(t, 2, &server{}, rec), p, rec)
	if err != nil {
		t.Fatal(err)
	}
	c.OnPhase = func(state string, _ int64) {
		if state == "measure" {
			cancel()
		}
	}
	if err := c.Run(ctx); err != nil {
		t.Error(err)
	}
	open := map[string]bool{}
	for _, e := range rec.list() {
		switch {
		case e.Kind == history.KindAcquire && e.Outcome == "ok":
			open[e.Hold] = true
		case e.Kind == history.KindRelease:
			delete(open, e.Hold)
		}
	}
	if len(open) != 0 {
		t.Errorf("%d holds were left", len(open))
	}
}

func TestAMasterThatIsNotThere(t *testing.T) {
	rec := &memory{}
	list := masters(t, 1, &server{}, rec)
	gone := httptest.NewServer(nil)
	gone.Close()
	c, err := mutex.NewClient(append(list, mutex.Master{Name: "m2", URL: gone.URL}), plan(), rec)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "master m2") {
		t.Errorf("error %v", err)
	}
}

func ask(t *testing.T, base, method, verb, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, base+"/v1/workload/"+verb, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(resp.StatusCode, " ", string(text))
}

func TestStartIsStrict(t *testing.T) {
	list := masters(t, 1, &server{}, &memory{})
	good, err := json.Marshal(plan())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ body, want string }{
		"unknown field": {`{"id":"x","clientz":3}`, "400"},
		"not JSON":      {`hello`, "400"},
		"two values":    {string(good) + string(good), "400"},
		"no clients":    {strings.Replace(string(good), `"clients":4`, `"clients":0`, 1), "clients 0"},
		"bad rate":      {strings.Replace(string(good), `"rate_per_s":0`, `"rate_per_s":-1`, 1), "rate -1"},
		"too large":     {`{"id":"` + strings.Repeat("x", 1<<20) + `"}`, "413"},
	} {
		if got := ask(t, list[0].URL, "POST", "start", c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := ask(t, list[0].URL, "GET", "status", ""); !strings.Contains(got, `"idle"`) {
		t.Errorf("status %s", got)
	}
	if got := ask(t, list[0].URL, "POST", "start", string(good)); !strings.HasPrefix(got, "202") {
		t.Errorf("start: %s", got)
	}
	if got := ask(t, list[0].URL, "POST", "start", string(good)); !strings.HasPrefix(got, "202") {
		t.Errorf("the same again: %s", got)
	}
	other := strings.Replace(string(good), `"id":"t"`, `"id":"u"`, 1)
	if got := ask(t, list[0].URL, "POST", "start", other); !strings.HasPrefix(got, "409") {
		t.Errorf("another plan at the same time: %s", got)
	}
	if got := ask(t, list[0].URL, "GET", "start", ""); !strings.HasPrefix(got, "405") {
		t.Errorf("GET start: %s", got)
	}
}

func FuzzStart(f *testing.F) {
	good, err := json.Marshal(plan())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"id":"x","rate_per_s":1e308,"elapsed_ns":-1}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := &server{refuses: true}
		w := mutex.Handler("m", s, &memory{})
		defer w.Close()
		out := httptest.NewRecorder()
		w.ServeHTTP(out, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/workload/start", bytes.NewReader(body)))
		var p mutex.Plan
		if err := json.Unmarshal(body, &p); out.Code == http.StatusAccepted && errors.Join(err, p.Validate()) != nil {
			t.Errorf("accepted %s", body)
		}
	})
}
