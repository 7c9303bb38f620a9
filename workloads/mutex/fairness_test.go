package mutex_test

import (
	"context"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"locklab/locks"
	"locklab/workloads/check"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
	"locklab/workloads/mutex"
)

// line is a lock whose waiters stand in line, in the order in which they came. The
// broken one always takes the first waiter of the first peer in the line instead.
type line struct {
	broken bool

	mu      sync.Mutex
	held    bool
	waiting []waiter
}

type waiter struct {
	peer int
	turn chan struct{} // has room for the one grant
}

// of is the lock as one peer's client sees it.
func (l *line) of(peer int) locks.Locker { return inLine{line: l, peer: peer} }

type inLine struct {
	line *line
	peer int
}

func (i inLine) Close() error { return nil }

func (i inLine) Acquire(ctx context.Context, _ string) (locks.Lease, error) {
	w := waiter{i.peer, make(chan struct{}, 1)}
	i.line.mu.Lock()
	i.line.waiting = append(i.line.waiting, w)
	i.line.next()
	i.line.mu.Unlock()
	select {
	case <-w.turn:
		return turn(i), nil
	case <-ctx.Done():
	}
	i.line.mu.Lock()
	defer i.line.mu.Unlock()
	for n, other := range i.line.waiting {
		if other.turn == w.turn {
			i.line.waiting = append(i.line.waiting[:n], i.line.waiting[n+1:]...)
			return nil, fmt.Errorf("wait: %w: %w", locks.ErrNotAcquired, ctx.Err())
		}
	}
	return turn(i), nil // granted at the last moment
}

// next grants to whose turn it is; the caller has the mutex.
func (l *line) next() {
	if l.held || len(l.waiting) == 0 {
		return
	}
	n := 0
	for i, w := range l.waiting {
		if l.broken && w.peer < l.waiting[n].peer {
			n = i
		}
	}
	l.held = true
	l.waiting[n].turn <- struct{}{}
	l.waiting = append(l.waiting[:n], l.waiting[n+1:]...)
}

type turn inLine

func (turn) Token() (locks.Token, bool) { return 0, false }
func (turn) Expires() (time.Time, bool) { return time.Time{}, false }
func (turn) Lost() <-chan struct{}      { return nil }
func (t turn) Release(context.Context) error {
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	t.line.held = false
	t.line.next()
	return nil
}

// playLine lets three peers compete for one resource.
func playLine(t *testing.T, l *line) *check.Findings {
	t.Helper()
	rec := &memory{}
	var list []mutex.Master
	for i := range 3 {
		name := fmt.Sprint("m", i+1)
		w := mutex.Handler(name, l.of(i), rec)
		h := httptest.NewServer(w)
		t.Cleanup(w.Close)
		t.Cleanup(h.Close)
		list = append(list, mutex.Master{Name: name, URL: h.URL})
	}
	p := plan()
	p.Resources, p.Duration = 1, time.Second
	c, err := mutex.NewClient(list, p, rec)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := check.Events(competing(rec.list()), check.Options{})
	if f.Overlaps != 0 || f.AcquiredOK == 0 || len(f.Peers) != 3 {
		t.Fatalf("%d overlaps, %d acquired, %d peers", f.Overlaps, f.AcquiredOK, len(f.Peers))
	}
	return f
}

// competing has the history measured only while all peers compete: on a busy
// machine the first can have done its plan long before the last one has.
func competing(events []history.Event) []history.Event {
	first, last := map[string]int64{}, map[string]int64{}
	for _, e := range events {
		if e.Kind != history.KindAcquire {
			continue
		}
		if at, known := first[e.Node]; !known || e.SentNS < at {
			first[e.Node] = e.SentNS
		}
		last[e.Node] = max(last[e.Node], e.AtNS)
	}
	from, to := slices.Max(slices.Collect(maps.Values(first))), slices.Min(slices.Collect(maps.Values(last)))
	for i := range events {
		if e := &events[i]; e.Kind == history.KindPhase {
			switch e.State {
			case loadgen.PhaseMeasure:
				e.AtNS = from
			case loadgen.PhaseDrain:
				e.AtNS = to
			}
		}
	}
	return events
}

func TestAFairLockShowsAsFair(t *testing.T) {
	f := playLine(t, &line{})
	if f.PeerFairness < 0.8 || f.PeerFairness > 1.000001 {
		t.Errorf("fairness of peers %v", f.PeerFairness)
	}
	total := int64(0)
	for _, p := range f.Peers {
		total += p.Acquires
		// Eight clients of others can be in front. A client counts from when it wanted
		// to ask, and on a busy machine one or the other asks a good while later; not
		// the average one.
		if p.Acquires == 0 || p.BypassMean() > 2*8 {
			t.Errorf("%s: %d acquired, passed %v times on average", p.Node, p.Acquires, p.BypassMean())
		}
	}
	if total != f.AcquiredOK {
		t.Errorf("the peers acquired %d, all together %d", total, f.AcquiredOK)
	}
}

func TestALockThatPrefersOnePeerShowsAsUnfair(t *testing.T) {
	f := playLine(t, &line{broken: true})
	if f.PeerFairness > 0.5 || f.PeerFairness == 0 {
		t.Errorf("fairness of peers %v, want about a third", f.PeerFairness)
	}
	first := f.Peers[0]
	for _, p := range f.Peers[1:] {
		if p.BypassMax*2 < first.Acquires || p.InARowMax*2 < first.Acquires || p.InARowMax <= 2*first.InARowMax {
			t.Errorf("%s was passed at most %d times, %d in a row; %s acquired %d and was passed %d in a row",
				p.Node, p.BypassMax, p.InARowMax, first.Node, first.Acquires, first.InARowMax)
		}
		if p.Wait.Max() < first.Wait.Max() {
			t.Errorf("%s waited at most %v, %s %v", p.Node, time.Duration(p.Wait.Max()), first.Node, time.Duration(first.Wait.Max()))
		}
	}
}
