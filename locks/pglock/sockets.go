package pglock

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
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
	cfg.AfterConnect = func(_ context.Context, c *pgconn.PgConn) error { return socketOf(c).Conn.SetDeadline(time.Time{}) }
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

	reading sync.Mutex // one read at a time; guards early
	early   []byte     // what listen read, which pgx has not

	mu        sync.Mutex
	listening bool
}

// socketOf is that of a connection, below TLS.
func socketOf(c *pgconn.PgConn) *socket {
	conn := c.Conn()
	if secure, is := conn.(*tls.Conn); is {
		conn = secure.NetConn()
	}
	return conn.(*socket) //nolint:forcetypeassert // all are dialed by dial
}

// Read gives what listen has read first.
func (c *socket) Read(into []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if len(c.early) > 0 {
		n := copy(into, c.early)
		c.early = c.early[n:]
		return n, nil
	}
	return c.Conn.Read(into)
}

// listen waits until the server says something or hangs up, at most for so long, or until interrupt. No
// statement may run meanwhile. It says whether to look what became of the session: not when it is over.
func (c *socket) listen(limit time.Duration, over *atomic.Bool) bool {
	c.mu.Lock()
	if over.Load() {
		c.mu.Unlock()
		return false
	}
	c.listening = true
	_ = c.SetReadDeadline(clock.System().Now().Add(limit)) // if it fails, so does the read
	c.mu.Unlock()

	c.reading.Lock()
	one := make([]byte, 1)
	n, _ := c.Conn.Read(one) // an error comes again
	c.early = append(c.early, one[:n]...)
	c.reading.Unlock()

	c.mu.Lock()
	defer c.mu.Unlock()
	c.listening = false
	_ = c.SetReadDeadline(time.Time{}) // if it fails, so does the next read
	return !over.Load()
}

// interrupt ends listen.
func (c *socket) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listening {
		_ = c.SetReadDeadline(time.Unix(1, 0))
	}
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
