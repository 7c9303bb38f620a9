package zklock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"locklab/locks/clock"
)

// wire makes the library's connections, one after the other, and is what the library has no
// words for: it hangs up, tells how long a session the servers grant, and leaves out pings,
// because a session is to live only while the client renews it.
type wire struct {
	clock   clock.Clock
	timeout time.Duration // as it was asked for: see patience
	granted atomic.Int64  // how long the session lasts, 0 if there is none yet

	mu     sync.Mutex
	closed bool
	conn   net.Conn // the current one
	dialed time.Time
}

var errHungUp = errors.New("zookeeper: the client has hung up")

func (w *wire) dial(network, addr string, limit time.Duration) (net.Conn, error) {
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return nil, errHungUp
	}
	conn, err := net.DialTimeout(network, addr, min(limit, w.patience())) //nolint:noctx // the library has none
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, errors.Join(errHungUp, conn.Close())
	}
	w.conn, w.dialed = conn, w.clock.Now()
	return &wireConn{Conn: conn, wire: w}, nil
}

// hangUp ends the connection if it is at least so old; the library then dials another server.
func (w *wire) hangUp(age time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil && w.clock.Now().Sub(w.dialed) >= age {
		_ = w.conn.Close() // the library notices
		w.conn = nil
	}
}

// session is how long the servers have granted a session; 0 if they have granted none yet.
func (w *wire) session() time.Duration { return time.Duration(w.granted.Load()) }

// patience is how long a server may take to answer. Where less was granted than asked for, a session
// must still live long enough for another server to be asked.
func (w *wire) patience() time.Duration {
	if granted := w.session(); granted > 0 {
		return min(w.timeout, granted/3)
	}
	return w.timeout
}

// since is when the current connection, or the last one, was made.
func (w *wire) since() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dialed
}

// close ends the connection, and there is no other one.
func (w *wire) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.hangUp(0)
}

type wireConn struct {
	net.Conn
	wire  *wire
	first []byte // what came first: the answer to the library's request for a session
}

// ping is the one frame that the library sends by itself: its length, its number and what it is.
func ping() []byte { return []byte{0, 0, 0, 8, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 11} }

// Write gets whole frames.
func (c *wireConn) Write(frame []byte) (int, error) {
	if bytes.Equal(frame, ping()) {
		return len(frame), nil
	}
	return c.Conn.Write(frame)
}

func (c *wireConn) Read(into []byte) (int, error) {
	const until = 12 // length, version, session timeout in milliseconds
	n, err := c.Conn.Read(into)
	if missing := until - len(c.first); missing > 0 {
		c.first = append(c.first, into[:min(n, missing)]...)
		if len(c.first) == until {
			if ms := binary.BigEndian.Uint32(c.first[8:]); ms > 0 { // 0 says that the session is over
				c.wire.granted.Store(int64(ms) * int64(time.Millisecond))
			}
		}
	}
	return n, err
}

// SetReadDeadline does nothing: silence between renewals is right, and after one is the end.
func (c *wireConn) SetReadDeadline(time.Time) error { return nil }
