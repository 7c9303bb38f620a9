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

// serveToxiproxy serves toxiproxy's API over the links of hosts until stop is called.
func serveToxiproxy(
	ctx context.Context, at *Toxiproxy, hosts func() map[string]*link.Client, log *slog.Logger,
) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := httpapi.Serve(ctx, at, link.Toxiproxy(hosts, at.AnyName), log); err != nil {
			log.Warn("toxiproxy's API ended", "error", err)
		}
	}()
	return func() {
		cancel()
		<-served
	}
}

// links are those of all hosts that answer.
func (f *fleet) links() map[string]*link.Client {
	all := map[string]*link.Client{}
	for name, m := range f.machines {
		all[name] = m.links
	}
	return all
}

// ServeToxiproxy serves toxiproxy's API over the host's links until stop is called.
func (h *Host) ServeToxiproxy(ctx context.Context, at *Toxiproxy, name, token string, log *slog.Logger) (stop func()) {
	client := link.NewClient(h.URL(), token)
	end := serveToxiproxy(ctx, at, func() map[string]*link.Client { return map[string]*link.Client{name: client} }, log)
	return func() {
		end()
		client.Disconnect()
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
		for _, moment := range []struct {
			state string
			at    int64
		}{{"began", done.BeganNS}, {"ended", done.EndedNS}} {
			if moment.at == 0 {
				continue // it was in force to the end
			}
			e.State, e.AtNS = moment.state, moment.at
			own := e
			m.clock.shift(&own)
			c.recorder.Record(own)
		}
	}
	return nil
}
