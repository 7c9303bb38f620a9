package nowait_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

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
		if err := s.SetDeadline(clock.System().Now().Add(-time.Second)); err != nil {
			t.Fatal(err)
		}
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
