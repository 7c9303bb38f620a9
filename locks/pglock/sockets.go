package pglock

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"locklab/locks/clock"
)

// sockets are those of one client. A statement that ends without an answer has pgx ask the
// server over a connection of its own to forget it, and then wait for the server to hang up:
// for up to 15 s, in which the connection counts as one of the pool's, and which Close of the
// pool waits out. Over a link that carries nothing, that is all of them. Here each step of it
// ends after the limit, and Close ends what is left.
type sockets struct {
	limit time.Duration
	dials pgconn.DialFunc // pgx's own

	mu     sync.Mutex
	closed bool
	open   map[*socket]struct{}
}

// newSockets has a client's connections, and what cancels their statements, dialed through it.
func newSockets(cfg *pgx.ConnConfig, limit time.Duration) *sockets {
	s := &sockets{limit: limit, dials: cfg.DialFunc, open: map[*socket]struct{}{}}
	cfg.DialFunc = s.dial
	cfg.AfterConnect = func(_ context.Context, c *pgconn.PgConn) error { return c.Conn().SetDeadline(time.Time{}) }
	return s
}

// dial connects. What is not a session within the limit, as what cancels a statement never is,
// ends then.
func (s *sockets) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	conn, err := s.dials(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := &socket{Conn: conn, all: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	s.open[c] = struct{}{}
	return c, conn.SetDeadline(s.latest())
}

func (s *sockets) latest() time.Time { return clock.System().Now().Add(s.limit) }

// close closes what is open, and what will be.
func (s *sockets) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for c := range s.open {
		_ = c.Conn.Close()
	}
	clear(s.open)
}

// socket is one of them.
type socket struct {
	net.Conn
	all *sockets
}

// SetDeadline sets the limit in place of what is later. No statement has a later one: pgx sets
// them once a context has ended, and the one of its farewell.
func (c *socket) SetDeadline(t time.Time) error {
	if latest := c.all.latest(); t.After(latest) {
		t = latest
	}
	return c.Conn.SetDeadline(t)
}

// Close closes it.
func (c *socket) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}
