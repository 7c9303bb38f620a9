package nowait_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/internal/nowait"
	"locklab/locks/clock"
)

// pair is both ends of a connection.
func pair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer func() { _ = l.Close() }()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

// TestConn fills a socket that nobody reads, empties it, and ends the stream.
func TestConn(t *testing.T) {
	a, b := pair(t)
	from, to := nowait.New(a), nowait.New(b)
	piece := bytes.Repeat([]byte("0123456789"), 10_000)
	var sent []byte
	for n := len(piece); n == len(piece); sent = append(sent, piece[:n]...) {
		var err error
		if n, err = from.TryWrite(piece); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS == "linux" && (len(sent) == 0) {
		t.Error("nothing was written")
	}
	done := make(chan error, 1)
	go func() {
		_, err := a.Write([]byte("the end"))
		done <- errors.Join(err, a.Close())
	}()
	var got []byte
	buf := make([]byte, 1<<10)
	n, err := to.Read(buf)
	for ; err == nil; n, err = to.Read(buf) {
		got = append(got, buf[:n]...)
	}
	if want := append(sent, "the end"...); !errors.Is(err, io.EOF) || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes and %v, want %d and the end of the stream", len(got), err, len(want))
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	for what, f := range map[string]func([]byte) (int, error){"read": to.Read, "write": to.TryWrite} {
		_ = b.Close()
		if _, err := f(buf); runtime.GOOS == "linux" && !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s a closed connection: %v", what, err)
		}
	}
}

// TestConnOfNoSocket reads as usual and writes nothing.
func TestConnOfNoSocket(t *testing.T) {
	c := nowait.New(bytes.NewReader([]byte("abc")))
	buf := make([]byte, 10)
	if n, err := c.Read(buf); n != 3 || err != nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
	if n, err := c.TryWrite(buf); n != 0 || err != nil {
		t.Errorf("wrote %d bytes, %v", n, err)
	}
}

// TestEnded only once the other end has hung up and everything was read, also while
// somebody reads.
func TestEnded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("whether the other end has hung up is told on Linux only")
	}
	a, b := pair(t)
	s := nowait.New(a)
	ended := func(when string, want bool) {
		t.Helper()
		if s.Ended() != want {
			t.Errorf("%s: ended %v, want %v", when, !want, want)
		}
	}
	ended("in the beginning", false)
	if _, err := b.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	must.Do(t, b.Close())
	ended("with something to read", false)
	if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for !s.Ended() { // its end may come after what it sent
		must.Do(t, clock.Sleep(t.Context(), time.Millisecond))
	}
	if n, err := s.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d, %v after the end", n, err)
	}
}
