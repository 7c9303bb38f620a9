package cluster

import (
	"errors"
	"testing"

	"locklab/internal/must"
	"locklab/nodes/topology"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
)

// TestALossThatWasAskedForIsNoFault: of a host that the scenario stops the nodes are gone, if it does not come back as
// it was. The next run waits for the host.
func TestALossThatWasAskedForIsNoFault(t *testing.T) {
	for name, back := range map[string]func(*away){
		"not at all":    func(a *away) { a.server.Close() },
		"started again": func(a *away) { a.instance.Store("another") },
		"as it was":     func(*away) {},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAway(t, "h", nil)
			rec := &historytest.Recorder{}
			c := clusterOf(rec, a.machine)
			c.layout.Topology.Hosts[0].Nodes = []topology.Node{{Name: "n", Role: "worker"}}
			must.Do(t, a.enlist(t.Context()))
			failed := errors.New("no answer")
			if err := c.tolerate("h", failed); !errors.Is(err, failed) {
				t.Errorf("the error of a host that nothing stopped was dropped: %v", err)
			}
			c.follow(t.Context())
			c.expectLoss([]string{"h"})
			back(a)
			if err := c.tolerate("h", failed); err != nil {
				t.Errorf("the error of a host that was stopped was kept: %v", err)
			}
			c.findLost(t.Context())
			c.recordLost()
			lost := name != "as it was"
			events := rec.Events()
			if len(events) > 1 || (len(events) == 1) != lost || a.returning != lost || lost && events[0].State != history.NodeLost {
				t.Errorf("recorded %+v, returning %v", events, a.returning)
			}
			if name == "started again" {
				if err := a.enlist(t.Context()); err != nil || a.returning {
					t.Errorf("the host is back: %v, returning %v", err, a.returning)
				}
			}
		})
	}
}
