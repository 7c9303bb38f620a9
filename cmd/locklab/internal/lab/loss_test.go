package lab

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"

	"locklab/nodes/agent"
	"locklab/nodes/topology"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
)

// away is a run with a host elsewhere, h, that may be lost. Its agent says of itself what a real
// one would, and which instance it is.
type away struct {
	*cluster
	h        *machine
	server   *httptest.Server
	instance atomic.Value
	rec      historytest.Recorder
	notices  []string
}

func newAway(t *testing.T) *away {
	t.Helper()
	a := &away{}
	a.instance.Store("first")
	a.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.MarshalWrite(w, agent.Health{Host: "h", Instance: a.instance.Load().(string)})
	}))
	t.Cleanup(a.server.Close)
	a.h = &machine{Host: topology.Host{Name: "h", Agent: a.server.URL}, agent: agent.NewClient(a.server.URL, ""), instance: "first"}
	t.Cleanup(a.h.agent.Close)
	a.cluster = &cluster{
		fleet: &fleet{
			machines: map[string]*machine{"h": a.h}, log: slog.New(slog.DiscardHandler),
			notice: func(s string) { a.notices = append(a.notices, s) },
		},
		topo:     &topology.Topology{Hosts: []topology.Host{{Name: "h", Nodes: []topology.Node{{Name: "n", Role: "worker"}}}, {Name: "other"}}},
		recorder: &a.rec,
	}
	return a
}

func TestLossIsNoticedAndRecordedOnce(t *testing.T) {
	for name, lose := range map[string]func(*away){
		"gone":          func(a *away) { a.server.Close() },
		"started again": func(a *away) { a.instance.Store("another") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newAway(t)
			failed := errors.New("no answer")
			if c.isLost(t.Context(), "h") {
				t.Fatal("a host that answers counts as lost")
			}
			if err := c.tolerate(t.Context(), "h", failed); !errors.Is(err, failed) {
				t.Errorf("the error of a host that is there was dropped: %v", err)
			}
			lose(c)
			for range 2 {
				if err := c.tolerate(t.Context(), "h", failed); err != nil {
					t.Errorf("the error of a lost host was kept: %v", err)
				}
			}
			c.recordLostNodes()
			if len(c.rec.Events()) != 2 || len(c.notices) != 1 {
				t.Fatalf("notices %q, recorded %+v; want one, and one fault and the end of one node", c.notices, c.rec.Events())
			}
			fault, node := c.rec.Events()[0], c.rec.Events()[1]
			if fault.Kind != history.KindFault || fault.Fault != history.FaultHostLoss || fault.State != "began" ||
				!slices.Equal(fault.From, []string{"h"}) || !slices.Equal(fault.To, []string{"other"}) || !slices.Equal(fault.Nodes, []string{"n"}) {
				t.Errorf("the ledger says %+v", fault)
			}
			if node.Kind != history.KindNode || node.Node != "n" || node.State != "lost" {
				t.Errorf("of the node it says %+v", node)
			}
		})
	}
}
