package lab

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/locks/clock"
	"locklab/nodes/agent"
	"locklab/nodes/topology"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
	"locklab/workloads/result"
)

func TestEventsMoveToTheControllersClock(t *testing.T) {
	e := history.Event{AtNS: 100, FromNS: 40}
	h := hostClock{Offset: agent.Offset{Add: 1000, Error: 7}}
	h.shift(&e)
	if e.AtNS != 1100 || e.FromNS != 1040 || e.SentNS != 0 || e.ErrNS != 7 {
		t.Errorf("%+v", e)
	}
}

func TestBoundHoldsTheDrift(t *testing.T) {
	estimate := func(offset, bound time.Duration) agent.Offset { return agent.Offset{Add: offset, Error: bound} }
	h := hostClock{Offset: estimate(time.Second, 100), readNS: 5000}
	for _, c := range []struct {
		end  agent.Offset
		want time.Duration
	}{
		{estimate(time.Second, 100), 100},
		{estimate(time.Second, 20), 100}, // the first reading was used for every event
		{estimate(time.Second+70, 20), 100},
		{estimate(time.Second+500, 20), 520},
		{estimate(time.Second-500, 20), 520},
	} {
		if got := h.boundAtEnd(c.end); got != c.want {
			t.Errorf("%v after %v: %d, want %d", c.end, h.Offset, got, c.want)
		}
	}
	if got := h.boundUnread(5000 + int64(2*time.Second)); got != 100+time.Millisecond {
		t.Errorf("two seconds unread: %v", got)
	}
	if got := h.boundUnread(4000); got != 100 {
		t.Errorf("never heard after it was read: %v", got)
	}
}

// clockAgent is an agent whose host's clock is as far ahead as it is told.
func clockAgent(t *testing.T, name string, ahead *atomic.Int64) *machine {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = struct{}{}
		switch r.URL.Path {
		case "/v1/clock":
			answer = clock.Mono() + ahead.Load()
		case "/v1/health":
			answer = agent.Health{Host: name, Instance: "first"}
		}
		_ = json.MarshalWrite(w, answer)
	}))
	t.Cleanup(server.Close)
	m := &machine{Host: topology.Host{Name: name, Agent: server.URL}, agent: agent.NewClient(server.URL, "")}
	t.Cleanup(m.agent.Close)
	return m
}

// TestDriftIsInTheHistoryAndTheResult: a clock that drifted in a run widens the
// bound of all of its host's times, and a host that is gone is given what a clock
// may drift.
func TestDriftIsInTheHistoryAndTheResult(t *testing.T) {
	const drift = 250 * time.Millisecond // far above any round trip of the loopback
	var steady, drifting, gone atomic.Int64
	drifting.Store(int64(time.Hour))
	machines := map[string]*machine{
		"steady":   clockAgent(t, "steady", &steady),
		"drifting": clockAgent(t, "drifting", &drifting),
		"gone":     clockAgent(t, "gone", &gone),
		"local":    {Host: topology.Host{Name: "local"}, local: &Host{}},
	}
	rec := &historytest.Recorder{}
	var notices []string
	order := []string{"steady", "drifting", "gone", "local"}
	c := &cluster{
		fleet:    &fleet{machines: machines, order: order, log: slog.New(slog.DiscardHandler), notice: func(s string) { notices = append(notices, s) }},
		topo:     &topology.Topology{},
		recorder: rec,
	}
	for _, name := range order {
		c.topo.Hosts = append(c.topo.Hosts, machines[name].Host)
		if machines[name].local == nil {
			if err := machines[name].tryEnlist(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if off := machines["drifting"].clock; (off.Add + time.Hour).Abs() > off.Error {
		t.Errorf("an hour ahead is %+v", off.Offset)
	}
	drifting.Add(int64(drift))
	heard := machines["gone"].clock.readNS + int64(20*time.Second)
	c.losses.add("gone", heard)
	if err := c.settleClocks(t.Context()); err != nil {
		t.Fatal(err)
	}
	bounds := map[string]time.Duration{}
	for _, e := range rec.Events() {
		if e.Kind == history.KindClock {
			bounds[e.Host] = time.Duration(e.ErrNS)
		}
	}
	if len(bounds) != 3 || bounds["steady"] >= drift || bounds["drifting"] < drift || bounds["gone"] < 10*time.Millisecond {
		t.Errorf("bounds %v; want one for each host elsewhere, with the drift", bounds)
	}
	var run result.Run
	c.fleet.clocks.report(order, &run)
	if !slices.EqualFunc(run.Clocks, []string{"steady", "drifting", "gone"}, func(r result.Clock, host string) bool {
		return r.Host == host && time.Duration(r.ErrorNS) == bounds[host]
	}) || len(run.Warnings) > 0 || len(notices) > 0 {
		t.Errorf("%+v, notices %v; bounds %v", run, notices, bounds)
	}
}
