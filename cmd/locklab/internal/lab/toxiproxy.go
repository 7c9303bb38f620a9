package lab

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	"locklab/chaos/link"
	"locklab/internal/httpapi"
	"locklab/workloads/history"
)

// Toxiproxy is where toxiproxy's API is served over the links.
type Toxiproxy struct {
	net.Listener
	AnyName bool // whatever name a request calls it by, see [link.Toxiproxy]
}

// ServeToxiproxy serves toxiproxy's API over the links of hosts until stop is called.
func ServeToxiproxy(ctx context.Context, at *Toxiproxy, links map[string]*link.Client, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() {
		defer close(served)
		handler := link.Toxiproxy(func() map[string]*link.Client { return links }, at.AnyName)
		if err := httpapi.Serve(ctx, at, handler, log); err != nil {
			log.Warn("toxiproxy's API ended", "error", err)
		}
	}()
	return func() {
		cancel()
		<-served
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
