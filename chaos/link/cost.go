package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"locklab/locks/clock"
)

// Cost is the median round trip of one small message on the loopback, directly
// and through a link without any toxic.
type Cost struct{ Direct, Link time.Duration }

const (
	costRounds  = 20
	costPerTurn = 50 // messages
	// messageBytes is the size of the message: a lock command's.
	messageBytes = 32
)

// MeasureCost measures both in turn, in this process, in about a quarter of a second.
func MeasureCost(ctx context.Context) (Cost, error) {
	m, err := NewMeter(ctx)
	if err != nil {
		return Cost{}, err
	}
	defer m.Close()
	direct, err := m.Direct(ctx)
	if err != nil {
		return Cost{}, err
	}
	through, err := m.Through(ctx, Delay{}, Delay{})
	if err != nil {
		return Cost{}, err
	}
	var directs, links []time.Duration
	for range costRounds {
		if err := errors.Join(measure(ctx, direct, &directs), measure(ctx, through, &links)); err != nil {
			return Cost{}, err
		}
	}
	return Cost{Direct: medianOf(directs), Link: medianOf(links)}, nil
}

func measure(ctx context.Context, p *Path, into *[]time.Duration) error {
	for range costPerTurn {
		took, err := p.RoundTrip(ctx)
		if err != nil {
			return err
		}
		*into = append(*into, took)
	}
	return nil
}

func medianOf(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// Meter is an echo server and links to it, to measure what links add. Use it from
// one goroutine.
type Meter struct {
	host   *Host
	server *net.TCPListener
	served chan struct{}
	paths  []*Path
}

// NewMeter starts the server and a host of links.
func NewMeter(ctx context.Context) (*Meter, error) {
	config := DefaultConfig()
	config.Host, config.Log = "meter", slog.New(slog.DiscardHandler)
	host, err := NewHost(config)
	if err != nil {
		return nil, err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		host.Close()
		return nil, fmt.Errorf("start server to measure links: %w", err)
	}
	m := &Meter{host: host, server: ln.(*net.TCPListener), served: make(chan struct{})}
	go m.serve()
	return m, nil
}

// serve ends when the listener is closed and all paths are.
func (m *Meter) serve() {
	defer close(m.served)
	var conns sync.WaitGroup
	for {
		c, err := m.server.Accept()
		if err != nil {
			break
		}
		conns.Go(func() {
			_, _ = io.Copy(struct{ io.Writer }{c}, c) // without splice: a plain server
			_ = c.Close()
		})
	}
	conns.Wait()
}

// Path is one connection to the meter's server.
type Path struct {
	conn net.Conn
	buf  [messageBytes]byte
}

// Direct opens a path without a link.
func (m *Meter) Direct(ctx context.Context) (*Path, error) {
	return m.dial(ctx, m.server.Addr().String())
}

// Through opens a path through a link with these base delays.
func (m *Meter) Through(ctx context.Context, up, down Delay) (*Path, error) {
	addr, err := m.host.Open(Spec{
		Name: fmt.Sprintf("meter %d", len(m.paths)), ToHost: "server", Upstream: m.server.Addr().String(), Up: up, Down: down,
	})
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
	p := &Path{conn: conn}
	m.paths = append(m.paths, p)
	if _, err := p.RoundTrip(ctx); err != nil { // the handshake is not counted
		return nil, err
	}
	return p, nil
}

// RoundTrip sends one message and waits for it to come back.
func (p *Path) RoundTrip(ctx context.Context) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("measure round trip: %w", err)
	}
	if err := p.conn.SetDeadline(clock.System().Now().Add(10 * time.Second)); err != nil {
		return 0, fmt.Errorf("measure round trip: %w", err)
	}
	start := clock.Mono()
	if _, err := p.conn.Write(p.buf[:]); err != nil {
		return 0, fmt.Errorf("measure round trip: %w", err)
	}
	if _, err := io.ReadFull(p.conn, p.buf[:]); err != nil {
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
	_ = m.server.Close()
	<-m.served
}
