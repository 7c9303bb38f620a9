package mutex_test

import (
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

	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/workloads/check"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
	"locklab/workloads/loadgen"
	"locklab/workloads/mutex"
	"locklab/workloads/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory keeps what is recorded, and does something as soon as the measured part begins.
type memory struct {
	historytest.Recorder
	measured func()
}

func (m *memory) Record(e history.Event) {
	m.Recorder.Record(e)
	if e.State == history.PhaseMeasure && m.measured != nil {
		m.measured()
	}
}

// judge is what the run comes to.
func (m *memory) judge(t *testing.T) result.Row {
	t.Helper()
	head := history.Event{Kind: history.KindRun, Run: &history.Run{Schema: history.Schema, Lock: "mine", Scenario: "mine", Repeat: 1, DurationNS: int64(time.Second), Workload: history.Mutex}}
	run, err := record.Of(append([]history.Event{head}, m.Events()...))
	must.Do(t, err)
	return check.Judge(run)
}

// acquired counts the acquisitions by their error; those of no error were granted.
func (m *memory) acquired() map[string]int {
	counts := map[string]int{}
	for _, e := range m.Events(history.KindAcquire) {
		counts[e.Error]++
	}
	return counts
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

func load() mutex.Load {
	return mutex.Load{
		Clients: 4, Resources: 2, Hold: time.Millisecond, Timeout: 2500 * time.Millisecond,
		Seed: 5, Warmup: 50 * time.Millisecond, Duration: 200 * time.Millisecond,
	}
}

// endless has the first of each resource hold, and all others wait, for longer than the run lasts.
func endless() mutex.Load {
	p := load()
	p.Hold, p.Timeout, p.Resources = time.Hour, time.Hour, 1
	return p
}

// run has n masters serve the workload for one lock, and run a load.
func run(ctx context.Context, t *testing.T, n int, s *service, p mutex.Load, rec history.Recorder) {
	t.Helper()
	c := mutex.Client{Load: p, Recorder: rec}
	for i := range n {
		name := fmt.Sprint("m", i+1)
		w := mutex.Handler(mutex.Config{Node: name, Token: "secret", Locker: s, Recorder: rec})
		h := httptest.NewServer(w)
		t.Cleanup(w.Close)
		t.Cleanup(h.Close)
		c.Masters = append(c.Masters, loadgen.Master{Name: name, URL: h.URL, Token: "secret"})
	}
	c.StartNS = clock.Mono()
	must.Do(t, c.Run(ctx))
}

// judged is what a load on two masters comes to.
func judged(t *testing.T, s *service, p mutex.Load) (*memory, result.Row) {
	t.Helper()
	rec := &memory{}
	run(t.Context(), t, 2, s, p, rec)
	return rec, rec.judge(t)
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
	p := load()
	p.Clients, p.Resources = 1, 1
	if run(t.Context(), t, 1, s, p, rec); sent.Load() == 0 {
		t.Error("nothing was released")
	}
}

func TestARightLock(t *testing.T) {
	for name, rate := range map[string]float64{"closed": 0, "open": 300} {
		t.Run(name, func(t *testing.T) {
			p := load()
			p.Rate = rate
			rec, f := judged(t, &service{}, p)
			if f.Figures["overlaps"] != 0 || f.Figures["tokens_back"] != 0 || f.Figures["acquired"] == 0 || f.Verdict.Sound.Code == result.Missing {
				t.Errorf("%+v", f)
			}
			if f.Figures["hold_p50_ms"] < 0.99*float64(p.Hold.Milliseconds()) || f.Figures["acquire_p50_ms"] == 0 || f.Figures["messages_per_acquire"] == 0 || f.Figures["fairness"] == 0 {
				t.Errorf("%+v", f.Figures)
			}
			began := map[string]bool{}
			for _, e := range rec.Events() {
				again := began[e.Hold] != (e.Kind != history.KindAcquire)
				switch {
				case e.Hold == "":
					continue
				case again || e.Client == "" || e.AtNS < max(e.SentNS, e.FromNS) || e.Kind == history.KindRelease && e.Outcome != "ok":
					t.Fatalf("event %+v", e)
				}
				began[e.Hold] = true
			}
			if open := unreleased(rec.Events()); len(open) != 0 {
				t.Errorf("%d holds were not released", len(open))
			}
		})
	}
}

func TestABrokenLock(t *testing.T) {
	if _, f := judged(t, &service{broken: true}, load()); f.Figures["overlaps"] == 0 {
		t.Errorf("no overlap was seen: %+v", f)
	}
}

func TestALockThatRefuses(t *testing.T) {
	_, f := judged(t, &service{refuses: true}, load())
	refused := f.Errors["unavailable"]
	if f.Figures["acquired"] != 0 || refused == 0 || float64(refused) != f.Figures["requests"] {
		t.Errorf("%+v", f)
	}
	if refused > 8*30 {
		t.Errorf("%d refusals in 200 ms: clients spin", refused)
	}
}

// TestWhoStillWaitsIsCalledOff: when the time is over nobody waits for holders any more, and
// who waited was neither served nor refused.
func TestWhoStillWaitsIsCalledOff(t *testing.T) {
	p := endless()
	rec, f := judged(t, &service{keeps: true}, p)
	counts := rec.acquired() // the first is granted, and whoever comes in while the others are called off
	if off := counts[loadgen.ErrorCalledOff]; off == 0 || off+counts[""] != 2*p.Clients || len(f.Errors) != 0 {
		t.Errorf("%v of %d clients; failed: %v", counts, 2*p.Clients, f.Errors)
	}
}

// TestWhoWaitsWhenTheRunIsInterruptedIsCalledOff: that the lock was asked in vain then is not the
// lock's doing.
func TestWhoWaitsWhenTheRunIsInterruptedIsCalledOff(t *testing.T) {
	p := endless()
	p.Duration = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rec := &memory{measured: cancel}
	run(ctx, t, 2, &service{keeps: true}, p, rec)
	off, f, open := rec.acquired()[loadgen.ErrorCalledOff], rec.judge(t), unreleased(rec.Events())
	if off == 0 || len(f.Errors) != 0 || len(open) != 0 {
		t.Errorf("%d were called off, %d holds were left; failed: %v", off, len(open), f.Errors)
	}
}

// TestARefusalAtTheEndIsOne: only our own deadline calls off.
func TestARefusalAtTheEndIsOne(t *testing.T) {
	rec, _ := judged(t, &service{keeps: true, breaks: true}, endless())
	if counts := rec.acquired(); counts[loadgen.ErrorCalledOff] > 0 || counts["unavailable"] == 0 {
		t.Errorf("%v, want refusals alone", counts)
	}
}

func TestLostLeases(t *testing.T) {
	p := load()
	p.Hold = time.Hour // only the loss ends it
	rec, f := judged(t, &service{loses: true}, p)
	if lost := len(rec.Events(history.KindLost)); lost == 0 || f.Figures["overlaps"] != 0 {
		t.Errorf("%d lost, %+v", lost, f)
	}
}

// TestARestartedMasterStartsAgain: another life of it acquires, too, to the end.
func TestARestartedMasterStartsAgain(t *testing.T) {
	rec := &memory{}
	config := mutex.Config{Node: "m1", Locker: &service{}, Recorder: rec}
	first, second := mutex.Handler(config), mutex.Handler(config)
	defer second.Close()
	var current atomic.Pointer[mutex.Workload]
	current.Store(first)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.Load().ServeHTTP(w, r) }))
	defer h.Close()
	ended := 0 // holds of the first
	rec.measured = func() {
		first.Close()
		current.Store(second)
		ended = len(rec.Events(history.KindRelease))
	}
	p := load()
	p.Duration = 1500 * time.Millisecond
	must.Do(t, mutex.Client{Masters: []loadgen.Master{{Name: "m1", URL: h.URL}}, Load: p, StartNS: clock.Mono(), Recorder: rec}.Run(t.Context()))
	if all := len(rec.Events(history.KindRelease)); ended == 0 || all == ended || len(unreleased(rec.Events())) > 0 {
		t.Errorf("%d holds, %d of them before the restart", all, ended)
	}
	if f := rec.judge(t); f.Figures["overlaps"] != 0 || f.Figures["acquired"] == 0 {
		t.Errorf("%+v", f)
	}
}

func TestAMasterThatIsNotThere(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	c := mutex.Client{Masters: []loadgen.Master{{Name: "m2", URL: gone.URL}}, Load: load(), Recorder: &memory{}}
	if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "master m2") {
		t.Errorf("error %v", err)
	}
}
