package lab

import (
	"context"
	"fmt"
	"net"
	"sync"

	"locklab/chaos/link"
	"locklab/internal/httpapi"
	"locklab/workloads/history"
)

// serveToxiproxy serves toxiproxy's API over the links of the fleet until stop is called.
func (f *fleet) serveToxiproxy(ctx context.Context, at net.Listener) (stop func()) {
	if at == nil {
		return func() {}
	}
	links := map[string]*link.Client{}
	for name, m := range f.machines {
		links[name] = m.links
	}
	ctx, cancel := context.WithCancel(ctx)
	var served sync.WaitGroup
	served.Go(func() {
		if err := httpapi.Serve(ctx, at, link.Toxiproxy(links), f.log); err != nil {
			f.log.Warn("toxiproxy's API ended", "error", err)
		}
	})
	return func() {
		cancel()
		served.Wait()
	}
}

// recordHand writes into the ledger what was done to the machine's links by hand.
func (c *cluster) recordHand(ctx context.Context, m *machine) error {
	all, err := m.links.Hand(ctx)
	if err != nil {
		return fmt.Errorf("ask %s what was done to its links by hand: %w", m.Name, err)
	}
	for n, done := range all {
		i := done.Impairment
		e := history.Event{
			Kind: history.KindFault, ID: fmt.Sprintf("hand/%s/%d", m.Name, n+1), Fault: history.FaultByHand,
			Target: fmt.Sprintf("link %s to %s (%s)", m.Name, i.Link, done.What()), From: []string{m.Name},
		}
		if done.ToHost != "" {
			e.To = []string{done.ToHost}
		}
		for state, at := range map[string]int64{"began": done.BeganNS, "ended": done.EndedNS} {
			if at == 0 {
				continue // it was in force to the end
			}
			own := e
			own.State, own.AtNS = state, at
			m.clock.shift(&own)
			c.recorder.Record(own)
		}
	}
	return nil
}
