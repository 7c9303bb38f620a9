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

// fakeAgent says of itself what a real one would, and which instance it is.
func fakeAgent(t *testing.T, instance *atomic.Value) (*machine, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.MarshalWrite(w, agent.Health{Host: "h", Instance: instance.Load().(string)})
	}))
	t.Cleanup(server.Close)
	m := &machine{Host: topology.Host{Name: "h", Agent: server.URL}, agent: agent.NewClient(server.URL, "")}
	t.Cleanup(m.agent.Close)
	return m, server
}

func TestLossIsNoticedAndRecordedOnce(t *testing.T) {
	for name, lose := range map[string]func(*atomic.Value, *httptest.Server){
		"gone":          func(_ *atomic.Value, s *httptest.Server) { s.Close() },
		"started again": func(instance *atomic.Value, _ *httptest.Server) { instance.Store("another") },
	} {
		t.Run(name, func(t *testing.T) {
			var instance atomic.Value
			instance.Store("first")
			m, server := fakeAgent(t, &instance)
			m.instance = "first"
			rec := &historytest.Recorder{}
			notices := 0
			c := &cluster{
				fleet:    &fleet{machines: map[string]*machine{"h": m}, log: slog.New(slog.DiscardHandler), notice: func(string) { notices++ }},
				topo:     &topology.Topology{Hosts: []topology.Host{{Name: "h", Nodes: []topology.Node{{Name: "n", Role: "worker"}}}, {Name: "other"}}},
				recorder: rec,
			}
			failed := errors.New("no answer")
			if c.isLost(t.Context(), "h") {
				t.Fatal("a host that answers counts as lost")
			}
			if err := c.tolerate(t.Context(), "h", failed); !errors.Is(err, failed) {
				t.Errorf("the error of a host that is there was dropped: %v", err)
			}
			lose(&instance, server)
			for range 2 {
				if err := c.tolerate(t.Context(), "h", failed); err != nil {
					t.Errorf("the error of a lost host was kept: %v", err)
				}
			}
			c.recordLostNodes()
			if len(rec.Events()) != 2 || notices != 1 {
				t.Fatalf("%d notices, recorded %+v; want one fault and the end of one node", notices, rec.Events())
			}
			fault, node := rec.Events()[0], rec.Events()[1]
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
