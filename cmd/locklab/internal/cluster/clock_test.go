package cluster

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/must"
	"locklab/locks/clock"
	"locklab/nodes/agent"
	"locklab/nodes/topology"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
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

// away is a host elsewhere. Its agent says of itself what a real one would, and which instance it is; its clock is as
// far ahead as it is told.
type away struct {
	*machine
	server   *httptest.Server
	instance atomic.Value
}

func newAway(t *testing.T, name string, ahead *atomic.Int64) *away {
	t.Helper()
	a := &away{}
	a.instance.Store("first")
	a.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = agent.Health{Host: name, Instance: a.instance.Load().(string)}
		if r.URL.Path == "/v1/clock" {
			now := clock.Mono()
			if ahead != nil {
				now += ahead.Load()
			}
			answer = now
		}
		_ = json.MarshalWrite(w, answer)
	}))
	t.Cleanup(a.server.Close)
	a.machine = &machine{Host: topology.Host{Name: name, Agent: a.server.URL}, agent: agent.NewClient(a.server.URL, "")}
	t.Cleanup(a.agent.Close)
	return a
}

// clusterOf is a run on these machines.
func clusterOf(rec history.Recorder, machines ...*machine) *Cluster {
	f := &Fleet{Config: Config{Log: slog.New(slog.DiscardHandler)}, machines: map[string]*machine{}}
	c := &Cluster{fleet: f, layout: Layout{Topology: &topology.Topology{}}, recorder: rec}
	for _, m := range machines {
		f.machines[m.Name] = m
		c.layout.Topology.Hosts = append(c.layout.Topology.Hosts, m.Host)
	}
	return c
}

// TestDriftIsInTheHistory: a clock that drifted in a run widens the
// bound of all of its host's times, and a host that is gone is given what a clock
// may drift.
func TestDriftIsInTheHistory(t *testing.T) {
	const drift = 250 * time.Millisecond // far above any round trip of the loopback
	var steady, drifting, gone atomic.Int64
	drifting.Store(int64(time.Hour))
	rec := &historytest.Recorder{}
	away := []*machine{
		newAway(t, "steady", &steady).machine, newAway(t, "drifting", &drifting).machine, newAway(t, "gone", &gone).machine,
	}
	c := clusterOf(rec, append(away, &machine{Host: topology.Host{Name: "local"}, local: &Host{}})...)
	for _, m := range away {
		must.Do(t, m.enlist(t.Context()))
	}
	if off := away[1].clock; (off.Add + time.Hour).Abs() > off.Error {
		t.Errorf("an hour ahead is %+v", off.Offset)
	}
	drifting.Add(int64(drift))
	c.lost = map[string]int64{"gone": away[2].clock.readNS + int64(20*time.Second)}
	must.Do(t, c.settleClocks(t.Context()))
	bounds := map[string]time.Duration{}
	for _, e := range rec.Events() {
		if e.Kind == history.KindClock {
			bounds[e.Host] = time.Duration(e.ErrNS)
		}
	}
	if len(bounds) != 3 || bounds["steady"] >= drift || bounds["drifting"] < drift || bounds["gone"] < 10*time.Millisecond {
		t.Errorf("bounds %v; want one for each host elsewhere, with the drift", bounds)
	}
}
