package nowait

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// Socket is a connection that is read and written as any other, in system calls that the
// runtime is not told of. One goroutine at a time may read.
type Socket struct {
	net.Conn
	now     *Conn
	writing sync.Mutex
}

// Dress makes a Socket of conn, which nobody else reads or writes from then on.
func Dress(conn net.Conn) *Socket { return &Socket{Conn: conn, now: New(conn)} }

// Read reads as conn does.
func (s *Socket) Read(b []byte) (int, error) {
	n, err := s.now.Read(b)
	return n, s.failed("read", err)
}

// Write writes as conn does: what the socket does not take at once, it waits for.
func (s *Socket) Write(b []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	n, err := s.now.TryWrite(b)
	if err != nil || n == len(b) {
		return n, s.failed("write", err)
	}
	rest, err := s.Conn.Write(b[n:])
	return n + rest, err
}

// Ended says whether the other end has hung up and all that it sent was read; false where
// that cannot be told. It may be asked while somebody reads.
func (s *Socket) Ended() bool { return s.now.Ended() }

// CloseWrite says to the other end that nothing more comes, as HTTP servers do before they
// hang up on somebody who may still be sending. It fails where conn has no such call.
func (s *Socket) CloseWrite() error {
	conn, ok := s.Conn.(interface{ CloseWrite() error })
	if !ok {
		return s.failed("close", errors.ErrUnsupported)
	}
	return conn.CloseWrite()
}

// failed is the error as package net would have it.
func (s *Socket) failed(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if outer, ok := errors.AsType[*net.OpError](err); ok {
		err = outer.Err // says raw-read, and not who was at the other end
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		err = os.NewSyscallError(op, errno)
	}
	return &net.OpError{Op: op, Net: s.RemoteAddr().Network(), Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: err}
}

// Listener accepts Sockets.
type Listener struct{ net.Listener }

// Accept waits for the next connection.
func (l Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return Dress(conn), nil
}
