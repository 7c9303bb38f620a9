package capacity_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/internal/httpapi/httpapitest"
	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/local"
	"locklab/workloads/capacity"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counted counts the grants of each resource, and what is still held.
type counted struct {
	locks.Locker
	mu      sync.Mutex
	grants  map[string]int
	holding int
}

type countedLease struct {
	locks.Lease
	of *counted
}

func (c *counted) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	lease, err := c.Locker.Acquire(ctx, resource)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.grants[resource]++
	c.holding++
	return countedLease{lease, c}, nil
}

func (l countedLease) Release(ctx context.Context) error {
	l.of.mu.Lock()
	l.of.holding--
	l.of.mu.Unlock()
	return l.Lease.Release(ctx)
}

// site is two masters on one lock.
func site(t *testing.T) (*counted, []loadgen.Master) {
	lock := &counted{Locker: local.New(), grants: map[string]int{}}
	var masters []loadgen.Master
	for _, name := range []string{"a", "c"} {
		server := httptest.NewServer(capacity.Handler(name, "secret", lock))
		t.Cleanup(server.Close)
		masters = append(masters, loadgen.Master{Name: name, URL: server.URL, Token: "secret"})
	}
	return lock, masters
}

// TestMeasure: what is recorded is what the lock granted after the warm-up, on a resource for
// each client or on one, and nothing stays held.
func TestMeasure(t *testing.T) {
	load := capacity.Load{Clients: 3, Duration: 50 * time.Millisecond}
	for resources, one := range map[int]bool{6: false, 1: true} {
		lock, masters := site(t)
		load.One = one
		e, err := capacity.Measure(t.Context(), masters, load)
		must.Do(t, err)
		lock.mu.Lock()
		all := 0
		for _, n := range lock.grants {
			all += n
		}
		// Clients begin, and so end, a moment after the time whose grants are counted.
		if len(lock.grants) > resources || lock.holding != 0 || e.Count == 0 || int(e.Count) > all || int(e.Count) < all/2 {
			t.Errorf("one %v: %d grants recorded of %d, on %d resources, %d still held", one, e.Count, all, len(lock.grants), lock.holding)
		}
		lock.mu.Unlock()
		if want := map[bool]string{false: history.CapacityOwn, true: history.CapacityOne}[one]; e.State != want || e.AtNS-e.SentNS != int64(load.Duration) {
			t.Errorf("one %v: recorded as %s over %v", one, e.State, time.Duration(e.AtNS-e.SentNS))
		}
	}
	_, masters := site(t)
	load.Warmup, load.Duration = 100*time.Millisecond, time.Nanosecond
	if e, err := capacity.Measure(t.Context(), masters, load); err != nil || e.Count > 6 {
		t.Errorf("the warm-up counts: %d grants in a nanosecond, %v", e.Count, err)
	}
}

// TestOnlyTheRunMeasures: a load of a stranger is refused.
func TestOnlyTheRunMeasures(t *testing.T) {
	_, masters := site(t)
	status, _ := httpapitest.Ask(t, http.MethodPost, masters[0].URL+capacity.Path, `{"clients":1,"duration_ns":1}`, nil)
	if status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
}
