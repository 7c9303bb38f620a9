// Package nowait reads from sockets and writes to them in system calls that the runtime is
// not told of. They never block, so it need not be: telling it has it wake, in a process
// that was idle, a thread that watches over system calls. Where many idle processes hear
// of each other now and then, that is a quarter of the cost. The mesh of peers and precise timers use it.
package nowait

import (
	"errors"
	"io"
	"syscall"
)

// Conn is a socket or a file that the runtime polls. One goroutine at a time may read, and
// one write.
type Conn struct {
	conn          io.Reader
	raw           syscall.RawConn // nil where there is none
	read, written attempt
}

// attempt is a system call that is tried until the socket is ready.
type attempt struct {
	try func(fd uintptr) (done bool) // bound once, so that nothing is allocated
	buf []byte
	n   int
	err error
}

// New makes one of conn. Of what is no socket, such as a TLS connection, and outside of
// Linux, reads are the usual ones, and nothing can be written without waiting.
func New(conn io.Reader) *Conn {
	c := &Conn{conn: conn}
	if sc, ok := conn.(syscall.Conn); ok && supported {
		c.raw, _ = sc.SyscallConn() // nil if it fails
	}
	c.read.try = func(fd uintptr) bool {
		c.read.n, c.read.err = read(fd, c.read.buf)
		return !errors.Is(c.read.err, syscall.EAGAIN)
	}
	c.written.try = func(fd uintptr) bool {
		w := &c.written
		for w.n < len(w.buf) {
			n, err := write(fd, w.buf[w.n:])
			if err != nil {
				if !errors.Is(err, syscall.EAGAIN) {
					w.err = err
				}
				break
			}
			w.n += n
		}
		return true
	}
	return c
}

// Read waits until there is something to read, as any Read does.
func (c *Conn) Read(b []byte) (int, error) {
	if c.raw == nil || len(b) == 0 {
		return c.conn.Read(b)
	}
	r := &c.read
	r.buf = b
	if err := c.raw.Read(r.try); err != nil {
		return 0, err
	}
	if r.n == 0 && r.err == nil {
		return 0, io.EOF
	}
	return r.n, r.err
}

// TryWrite writes as much as is taken at once, which may be nothing.
func (c *Conn) TryWrite(b []byte) (n int, err error) {
	if c.raw == nil {
		return 0, nil
	}
	w := &c.written
	w.buf, w.n, w.err = b, 0, nil
	if err := c.raw.Write(w.try); err != nil {
		return 0, err
	}
	return w.n, w.err
}

// Ended says whether the other end has hung up and all that it sent was read; false where
// that cannot be told.
func (c *Conn) Ended() (is bool) {
	if c.raw != nil {
		_ = c.raw.Control(func(fd uintptr) { is = ended(fd) }) // fails if it was closed here
	}
	return is
}
