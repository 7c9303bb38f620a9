package mutex_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"locklab/internal/httpapi/httpapitest"
	"locklab/locks"
	"locklab/workloads/check/judge"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
	"locklab/workloads/loadgen"
	"locklab/workloads/mutex"
	"locklab/workloads/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type memory struct{ historytest.Recorder }

func (m *memory) list() []history.Event {
	return append([]history.Event{{Kind: history.KindRun, Run: &history.Run{Schema: history.Schema, Lock: "mine", Scenario: "mine", Repeat: 1, DurationNS: int64(time.Second), Workload: "mutex"}}}, m.Events()...)
}

// service is a lock that all masters of a test share: who waits for a resource stands in
// line. The zero value is right.
type service struct {
	broken    bool // excludes nobody
	refuses   bool
	keeps     bool   // who holds it is the last one
	breaks    bool   // refuses who still waits when the time is over
	loses     bool   // every lease is lost at once
	onRelease func() // nil: nobody looks

	mu              sync.Mutex
	held            map[string]bool
	line            []waiter
	token, messages uint64
}

type waiter struct {
	resource string
	turn     chan struct{} // has room for the one grant
}

func (m *service) Close() error { return nil }

func (m *service) MessagesSent() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.messages
}

func (m *service) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if m.refuses {
		return nil, fmt.Errorf("refused: %w: %w", locks.ErrNotAcquired, locks.ErrUnavailable)
	}
	w := waiter{resource, make(chan struct{}, 1)}
	m.mu.Lock()
	m.messages += 2
	m.line = append(m.line, w)
	m.next()
	m.mu.Unlock()
	select {
	case <-w.turn:
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.line, w); i >= 0 {
		m.line = slices.Delete(m.line, i, i+1)
		if m.breaks {
			return nil, fmt.Errorf("connection refused: %w: %w", locks.ErrNotAcquired, locks.ErrUnavailable)
		}
		return nil, fmt.Errorf("wait: %w: %w", locks.ErrNotAcquired, ctx.Err())
	}
	m.token++
	g := grant{m, resource, m.token, make(chan struct{})}
	if m.loses {
		close(g.lost)
	}
	return g, nil
}

// next grants to all whose turn it is; the caller has the mutex.
func (m *service) next() {
	for _, w := range slices.Clone(m.line) {
		if m.held[w.resource] && !m.broken {
			continue
		}
		if m.held == nil {
			m.held = map[string]bool{}
		}
		m.held[w.resource] = true
		m.line = slices.Delete(m.line, slices.Index(m.line, w), slices.Index(m.line, w)+1)
		w.turn <- struct{}{}
	}
}

type grant struct {
	*service
	resource string
	token    uint64
	lost     chan struct{}
}

func (g grant) Token() (locks.Token, bool) { return locks.Token(g.token), true }
func (g grant) Expires() (time.Time, bool) { return time.Time{}, false }
func (g grant) Lost() <-chan struct{}      { return g.lost }
func (g grant) Release(context.Context) error {
	if g.onRelease != nil {
		g.onRelease()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.keeps {
		g.held[g.resource] = false
		g.next()
	}
	if g.loses {
		return locks.ErrNotHeld
	}
	return nil
}

func plan() mutex.Plan {
	p := mutex.DefaultPlan()
	p.ID, p.Seed, p.Warmup, p.Duration, p.Clients, p.Resources = "t", 5, 50*time.Millisecond, 200*time.Millisecond, 4, 2
	return p
}

// secret is what masters of these tests want to see.
const secret = "secret"

// serve has n masters serve the workload for one lock.
func serve(t *testing.T, n int, s *service, rec history.Recorder) (list []mutex.Master) {
	t.Helper()
	for i := range n {
		name := fmt.Sprint("m", i+1)
		w := mutex.Handler(mutex.Config{Path: mutex.Prefix, Node: name, Token: secret, Locker: s, Recorder: rec})
		h := httptest.NewServer(w)
		t.Cleanup(w.Close)
		t.Cleanup(h.Close)
		list = append(list, mutex.Master{Name: name, URL: h.URL, Token: secret})
	}
	return list
}

// play runs a plan on masters. Its client may be changed before.
func play(ctx context.Context, t *testing.T, list []mutex.Master, p mutex.Plan, rec history.Recorder, change func(*mutex.Client)) (mutex.Status, error) {
	t.Helper()
	c := mutex.NewClient(mutex.Prefix, list, p, rec)
	change(c)
	err := c.Run(ctx)
	return c.Progress(), err
}

// asItIs leaves the client alone.
func asItIs(*mutex.Client) {}

// whenMeasured has something done as soon as the measured part begins.
func whenMeasured(do func()) func(*mutex.Client) {
	return func(c *mutex.Client) {
		c.OnPhase = func(state string, _ int64) {
			if state == loadgen.PhaseMeasure {
				do()
			}
		}
	}
}

func find(t *testing.T, events []history.Event) result.Row {
	t.Helper()
	run, err := record.Of(events)
	if err != nil {
		t.Fatal(err)
	}
	return judge.Run(run)
}

// judged is what a plan on so many masters comes to.
func judged(t *testing.T, n int, s *service, p mutex.Plan) ([]history.Event, result.Row, mutex.Status) {
	t.Helper()
	rec := &memory{}
	progress, err := play(t.Context(), t, serve(t, n, s, rec), p, rec, asItIs)
	if err != nil {
		t.Fatal(err)
	}
	return rec.list(), find(t, rec.list()), progress
}

// unreleased are the holds without an end.
func unreleased(events []history.Event) map[string]bool {
	open := map[string]bool{}
	for _, e := range events {
		switch {
		case e.Kind == history.KindAcquire && e.Outcome == "ok":
			open[e.Hold] = true
		case e.Kind == history.KindRelease:
			delete(open, e.Hold)
		}
	}
	return open
}

// pipe is a recorder whose events have left the process only once they are flushed.
type pipe struct {
	memory
	flushed atomic.Int64 // so many events
}

func (p *pipe) Flush() error {
	p.flushed.Store(int64(len(p.Events())))
	return nil
}

// left are the holds whose release the file knows of.
func (p *pipe) left() map[string]bool {
	left := map[string]bool{}
	for _, e := range p.Events()[:p.flushed.Load()] {
		if e.Kind == history.KindReleasing {
			left[e.Hold] = true
		}
	}
	return left
}

// TestAReleaseIsOnRecordBeforeItIsSent: a client that is killed with its release under
// way has left its hold, and only a record from before says so.
func TestAReleaseIsOnRecordBeforeItIsSent(t *testing.T) {
	rec := &pipe{}
	var sent atomic.Int64
	s := &service{onRelease: func() {
		if n := sent.Add(1); len(rec.left()) < int(n) {
			t.Errorf("release %d was sent, and %d are on record", n, len(rec.left()))
		}
	}}
	p := plan()
	p.Clients, p.Resources = 1, 1
	if _, err := play(t.Context(), t, serve(t, 1, s, rec), p, rec, asItIs); err != nil || sent.Load() == 0 {
		t.Fatalf("%d releases: %v", sent.Load(), err)
	}
}

func TestARightLock(t *testing.T) {
	for name, rate := range map[string]float64{"closed": 0, "open": 300} {
		t.Run(name, func(t *testing.T) {
			p := plan()
			p.Rate = rate
			events, f, progress := judged(t, 2, &service{}, p)
			if f.Figures["overlaps"] != 0 || f.Figures["tokens_back"] != 0 || f.Figures["acquired"] == 0 || f.Verdict.Sound.Code == result.Missing {
				t.Errorf("%+v", f)
			}
			if f.Figures["hold_p50_ms"] < 0.99*float64(p.Hold.Milliseconds()) || f.Figures["acquire_p50_ms"] == 0 || f.Figures["messages_per_acquire"] == 0 || f.Figures["fairness"] == 0 {
				t.Errorf("%+v", f.Figures)
			}
			counts, began := map[history.Kind]uint64{}, map[string]bool{}
			for _, e := range events {
				counts[e.Kind]++
				again := began[e.Hold] != (e.Kind != history.KindAcquire)
				switch {
				case e.Hold == "":
					continue
				case again || e.Client == "" || e.AtNS < max(e.SentNS, e.FromNS) || e.Kind == history.KindRelease && e.Outcome != "ok":
					t.Fatalf("event %+v", e)
				}
				began[e.Hold] = true
			}
			if open := unreleased(events); len(open) != 0 || counts[history.KindAcquire] != counts[history.KindRelease] {
				t.Errorf("%d holds were not released: %v", len(open), counts)
			}
			if progress.Acquired != counts[history.KindAcquire] {
				t.Errorf("progress %+v of %v", progress, counts)
			}
		})
	}
}

func TestABrokenLock(t *testing.T) {
	if _, f, _ := judged(t, 2, &service{broken: true}, plan()); f.Figures["overlaps"] == 0 {
		t.Errorf("no overlap was seen: %+v", f)
	}
}

func TestALockThatRefuses(t *testing.T) {
	_, f, progress := judged(t, 2, &service{refuses: true}, plan())
	refused := f.Errors["unavailable"]
	if f.Figures["acquired"] != 0 || refused == 0 || float64(refused) != f.Figures["requests"] || progress.Failed == 0 {
		t.Errorf("%+v, %+v", f, progress)
	}
	if refused > 8*30 {
		t.Errorf("%d refusals in 200 ms: clients spin", refused)
	}
}

// TestWhoStillWaitsIsCalledOff: when the time is over nobody waits for holders any more, and
// who waited was neither served nor refused.
func TestWhoStillWaitsIsCalledOff(t *testing.T) {
	p := plan()
	p.Hold, p.Timeout, p.Resources = time.Hour, time.Hour, 1 // for that long the run would last
	events, f, _ := judged(t, 2, &service{keeps: true}, p)
	off, granted := 0, 0
	for _, e := range events {
		switch {
		case e.Kind != history.KindAcquire:
		case e.Error == loadgen.ErrorCalledOff:
			off++
		case e.Outcome == "ok":
			granted++ // the first, and whoever comes in while the others are called off
		}
	}
	if off == 0 || off+granted != 2*p.Clients || len(f.Errors) != 0 {
		t.Errorf("%d were called off and %d granted of %d clients; failed: %v", off, granted, 2*p.Clients, f.Errors)
	}
}

// TestWhoWaitsWhenTheRunIsInterruptedIsCalledOff: that the lock was asked in vain then is not the
// lock's doing.
func TestWhoWaitsWhenTheRunIsInterruptedIsCalledOff(t *testing.T) {
	p := plan()
	p.Hold, p.Timeout, p.Resources, p.Duration = time.Hour, time.Hour, 1, time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rec := &memory{}
	_, err := play(ctx, t, serve(t, 2, &service{keeps: true}, rec), p, rec, whenMeasured(cancel))
	if err != nil {
		t.Fatal(err)
	}
	f := find(t, rec.list())
	off := 0
	for _, e := range rec.list() {
		if e.Kind == history.KindAcquire && e.Error == loadgen.ErrorCalledOff {
			off++
		}
	}
	if open := unreleased(rec.list()); off == 0 || len(f.Errors) != 0 || len(open) != 0 {
		t.Errorf("%d were called off, %d holds were left; failed: %v", off, len(open), f.Errors)
	}
}

// TestARefusalAtTheEndIsOne: only our own deadline calls off.
func TestARefusalAtTheEndIsOne(t *testing.T) {
	p := plan()
	p.Hold, p.Timeout, p.Resources = time.Hour, time.Hour, 1
	events, _, _ := judged(t, 2, &service{keeps: true, breaks: true}, p)
	refused := 0
	for _, e := range events {
		switch e.Error {
		case loadgen.ErrorCalledOff:
			t.Errorf("called off: %+v", e)
		case "unavailable":
			refused++
		}
	}
	if refused == 0 {
		t.Error("nobody was refused")
	}
}

func TestLostLeases(t *testing.T) {
	p := plan()
	p.Hold = time.Hour // only the loss ends it
	events, f, _ := judged(t, 2, &service{loses: true}, p)
	lost := slices.ContainsFunc(events, func(e history.Event) bool { return e.Kind == history.KindLost })
	if !lost || f.Figures["overlaps"] != 0 {
		t.Errorf("lost %v, %+v", lost, f)
	}
}

func TestARestartedMasterStartsAgain(t *testing.T) {
	s, rec := &service{}, &memory{}
	first, second := mutex.Handler(mutex.Config{Path: mutex.Prefix, Node: "m1", Token: secret, Locker: s, Recorder: rec}), mutex.Handler(mutex.Config{Path: mutex.Prefix, Node: "m1", Token: secret, Locker: s, Recorder: rec})
	defer second.Close()
	var current atomic.Pointer[mutex.Workload]
	current.Store(first)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.Load().ServeHTTP(w, r) }))
	defer h.Close()
	p := plan()
	p.Duration = 1500 * time.Millisecond
	_, err := play(t.Context(), t, []mutex.Master{{Name: "m1", URL: h.URL, Token: secret}}, p, rec, whenMeasured(func() {
		first.Close()
		current.Store(second)
	}))
	if status := ask(t, h.URL, "GET", "status", ""); err != nil || !strings.Contains(status, `"state":"done"`) || strings.Contains(status, `"acquired":0,`) {
		t.Errorf("the second life: %s, %v", status, err)
	}
	if f := find(t, rec.list()); f.Figures["overlaps"] != 0 || f.Figures["acquired"] == 0 {
		t.Errorf("%+v", f)
	}
}

func TestAMasterThatIsNotThere(t *testing.T) {
	rec, gone := &memory{}, httptest.NewServer(nil)
	gone.Close()
	list := append(serve(t, 1, &service{}, rec), mutex.Master{Name: "m2", URL: gone.URL})
	if _, err := play(t.Context(), t, list, plan(), rec, asItIs); err == nil || !strings.Contains(err.Error(), "master m2") {
		t.Errorf("error %v", err)
	}
}

func ask(t *testing.T, base, method, verb, body string) string {
	t.Helper()
	status, text := httpapitest.Ask(t, method, base+"/v1/workload/"+verb, body, map[string]string{"Authorization": "Bearer " + secret})
	return fmt.Sprint(status, " ", text)
}

func TestStartIsStrict(t *testing.T) {
	list := serve(t, 1, &service{}, &memory{})
	good, err := json.Marshal(plan())
	if err != nil {
		t.Fatal(err)
	}
	open, err := http.Post(list[0].URL+"/v1/workload/start", "", bytes.NewReader(good)) //nolint:gosec // of this test
	if err != nil {
		t.Fatal(err)
	}
	_ = open.Body.Close()
	if open.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token: status %d", open.StatusCode)
	}
	for name, c := range map[string]struct{ body, want string }{
		"unknown field": {`{"id":"x","clientz":3}`, "400"},
		"too large":     {`{"id":"` + strings.Repeat("x", 1<<20) + `"}`, "too large"},
	} {
		if got := ask(t, list[0].URL, "POST", "start", c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	other := strings.Replace(string(good), `"id":"t"`, `"id":"u"`, 1)
	for _, c := range []struct{ what, method, verb, body, want string }{
		{"nothing was started", "GET", "status", "", `"idle"`},
		{"start", "POST", "start", string(good), "200"},
		{"the same again", "POST", "start", string(good), "200"},
		{"another plan at the same time", "POST", "start", other, "409"},
		{"GET start", "GET", "start", "", "404"},
	} {
		if got := ask(t, list[0].URL, c.method, c.verb, c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}
