package nowait_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/internal/nowait"
	"locklab/locks/clock"
)

// TestSocketWritesAll writes more than a socket takes at once, to a reader that starts late.
func TestSocketWritesAll(t *testing.T) {
	a, b := pair(t)
	from, to := nowait.Dress(a), nowait.Dress(b)
	sent := bytes.Repeat([]byte("0123456789"), 2<<20)
	done := make(chan error, 1)
	go func() {
		n, err := from.Write(sent)
		if err == nil && n != len(sent) {
			err = io.ErrShortWrite
		}
		done <- errors.Join(err, from.Close())
	}()
	got, err := io.ReadAll(to)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("read %d bytes of %d, %v", len(got), len(sent), err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestSocketFailsAsAnyOther: callers look for net's own errors.
func TestSocketFailsAsAnyOther(t *testing.T) {
	buf := make([]byte, 10)
	failed := func(t *testing.T, op string, err, want error) {
		t.Helper()
		if e, ok := errors.AsType[*net.OpError](err); !ok || e.Op != op || !errors.Is(err, want) {
			t.Errorf("%s: %v (%T), want net's error of %q with %v", op, err, err, op, want)
		}
	}
	t.Run("deadline", func(t *testing.T) {
		a, _ := pair(t)
		s := nowait.Dress(a)
		must.Do(t, s.SetDeadline(clock.System().Now().Add(-time.Second)))
		_, err := s.Read(buf)
		failed(t, "read", err, os.ErrDeadlineExceeded)
		if e, ok := errors.AsType[net.Error](err); !ok || !e.Timeout() {
			t.Errorf("%v is no timeout", err)
		}
		_, err = s.Write(buf)
		failed(t, "write", err, os.ErrDeadlineExceeded)
	})
	t.Run("closed here", func(t *testing.T) {
		a, _ := pair(t)
		s := nowait.Dress(a)
		_ = s.Close()
		_, err := s.Read(buf)
		failed(t, "read", err, net.ErrClosed)
		_, err = s.Write(buf)
		failed(t, "write", err, net.ErrClosed)
	})
	t.Run("reset there", func(t *testing.T) {
		a, b := pair(t)
		s := nowait.Dress(a)
		_ = b.(*net.TCPConn).SetLinger(0)
		_ = b.Close()
		_, err := s.Read(buf)
		failed(t, "read", err, syscall.ECONNRESET)
	})
}

// TestSocketEndsOneWay as net/http's server wants to, and looks for.
func TestSocketEndsOneWay(t *testing.T) {
	a, b := pair(t)
	var s net.Conn = nowait.Dress(a)
	end, ok := s.(interface{ CloseWrite() error })
	if !ok {
		t.Fatal("no CloseWrite")
	}
	must.Do(t, end.CloseWrite())
	if got, err := io.ReadAll(b); len(got) > 0 || err != nil {
		t.Errorf("%q, %v; want the end", got, err)
	}
	if _, err := b.Write([]byte("still")); err != nil {
		t.Fatal(err)
	}
	_ = b.Close()
	if got, err := io.ReadAll(s); string(got) != "still" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	c, _ := net.Pipe()
	defer func() { _ = c.Close() }()
	if err := nowait.Dress(c).CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a pipe: %v", err)
	}
}

// TestSocketWritesOneAfterTheOther: writers at the same time do not mix what they write.
func TestSocketWritesOneAfterTheOther(t *testing.T) {
	const writers, times, size = 8, 50, 10_000
	a, b := pair(t)
	s := nowait.Dress(a)
	done := make(chan error, writers)
	for w := range writers {
		go func() {
			var err error
			for range times {
				_, one := s.Write(bytes.Repeat([]byte{byte(w)}, size))
				err = errors.Join(err, one)
			}
			done <- err
		}()
	}
	piece := make([]byte, size)
	for range writers * times {
		if _, err := io.ReadFull(b, piece); err != nil {
			t.Fatal(err)
		}
		if bytes.Count(piece, piece[:1]) != size {
			t.Fatal("two writes are mixed")
		}
	}
	for range writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestSocketEnded only once the other end has hung up and everything was read, also while
// somebody reads.
func TestSocketEnded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("whether the other end has hung up is told on Linux only")
	}
	a, b := pair(t)
	s := nowait.Dress(a)
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
