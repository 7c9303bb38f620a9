package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"locklab/locks/clock"
)

// Path is one connection to an echo service, with which cmd/bench measures what links add. Use it from one
// goroutine.
type Path struct {
	host *Host
	conn net.Conn
}

// NewPath goes through a link with this base delay on the way up; nil is without a link.
func NewPath(ctx context.Context, delay *Delay) (*Path, error) {
	config := DefaultConfig()
	config.Host = "path"
	host, err := NewHost(config)
	if err != nil {
		return nil, err
	}
	p, addr := &Path{host: host}, host.EchoAddr()
	if delay != nil {
		addr, err = host.Open(Spec{Name: "path", ToHost: "path", Upstream: addr, Up: *delay})
	}
	if err == nil {
		p.conn, err = new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	if err == nil {
		_, err = fmt.Fprintln(p.conn, "path")
	}
	if err == nil {
		_, err = p.RoundTrip(ctx) // the handshake is not counted
	}
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("dial to measure: %w", err)
	}
	return p, nil
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
func (p *Path) Close() {
	if p.conn != nil {
		_ = p.conn.Close()
	}
	p.host.Close()
}
