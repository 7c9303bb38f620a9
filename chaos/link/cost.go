package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"locklab/locks/clock"
)

// Cost is the median round trip of one small message on the loopback, directly
// and through a link without any toxic.
type Cost struct{ Direct, Link time.Duration }

const (
	costRounds  = 20
	costPerTurn = 50 // messages
)

// MeasureCost measures both in turn, in this process, in about a quarter of a second.
func MeasureCost(ctx context.Context) (Cost, error) {
	m, err := NewMeter()
	if err != nil {
		return Cost{}, err
	}
	defer m.Close()
	direct, err1 := m.Direct(ctx)
	through, err2 := m.Through(ctx, Delay{}, Delay{})
	if err := errors.Join(err1, err2); err != nil {
		return Cost{}, err
	}
	var times [2][]time.Duration
	for n := range 2 * costRounds * costPerTurn {
		which := n / costPerTurn % 2
		took, err := []*Path{direct, through}[which].RoundTrip(ctx)
		if err != nil {
			return Cost{}, err
		}
		times[which] = append(times[which], took)
	}
	for _, all := range times {
		slices.Sort(all)
	}
	const median = costRounds * costPerTurn / 2
	return Cost{Direct: times[0][median], Link: times[1][median]}, nil
}

// Meter is an echo service and links to it, to measure what links add. Use it from
// one goroutine.
type Meter struct {
	host  *Host
	paths []*Path
}

// NewMeter starts a host of links.
func NewMeter() (*Meter, error) {
	config := DefaultConfig()
	config.Host = "meter"
	host, err := NewHost(config)
	return &Meter{host: host}, err
}

// Path is one connection to the echo service.
type Path struct{ conn net.Conn }

// Direct opens a path without a link.
func (m *Meter) Direct(ctx context.Context) (*Path, error) { return m.dial(ctx, m.host.EchoAddr()) }

// Through opens a path through a link with these base delays.
func (m *Meter) Through(ctx context.Context, up, down Delay) (*Path, error) {
	name := fmt.Sprintf("meter %d", len(m.paths))
	addr, err := m.host.Open(Spec{Name: name, ToHost: "meter", Upstream: m.host.EchoAddr(), Up: up, Down: down})
	if err != nil {
		return nil, err
	}
	return m.dial(ctx, addr)
}

func (m *Meter) dial(ctx context.Context, addr string) (*Path, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("dial to measure: %w", err)
	}
	p := &Path{conn}
	m.paths = append(m.paths, p)
	_, _ = fmt.Fprintln(conn, "meter") // if it fails, so does the round trip
	_, err = p.RoundTrip(ctx)          // the handshake is not counted
	return p, err
}

// RoundTrip sends one message and waits for it to come back.
func (p *Path) RoundTrip(ctx context.Context) (time.Duration, error) {
	err := errors.Join(ctx.Err(), p.conn.SetDeadline(clock.System().Now().Add(10*time.Second)))
	start := clock.Mono()
	if err == nil {
		err = frame{Sent: start}.write(p.conn)
	}
	if err == nil {
		_, err = readFrame(p.conn)
	}
	if err != nil {
		return 0, fmt.Errorf("measure round trip: %w", err)
	}
	return time.Duration(clock.Mono() - start), nil
}

// Close ends everything.
func (m *Meter) Close() {
	for _, p := range m.paths {
		_ = p.conn.Close()
	}
	m.host.Close()
}
