package link_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/chaos/link"
	"locklab/internal/must"
	"locklab/locks/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newHost(t testing.TB, name string) *link.Host {
	t.Helper()
	return gatedHost(t, name, nil)
}

// gatedHost shares a machine with others.
func gatedHost(t testing.TB, name string, gates *link.Gates) *link.Host {
	t.Helper()
	config := link.DefaultConfig()
	config.Host, config.Seed, config.Gates = name, 1, gates
	h, err := link.NewHost(config)
	must.Do(t, err)
	t.Cleanup(h.Close)
	return h
}

// serve runs a server on the loopback until the test ends.
func serve(t testing.TB, handle func(*net.TCPConn)) (addr string) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	must.Do(t, err)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		conns []net.Conn
	)
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			wg.Go(func() {
				handle(c.(*net.TCPConn))
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return ln.Addr().String()
}

func echo(c *net.TCPConn) { _, _ = io.Copy(c, c) }

func open(t testing.TB, h *link.Host, spec link.Spec) string {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "to " + spec.Upstream
	}
	spec.ToHost, spec.ToNode = cmp.Or(spec.ToHost, "b"), cmp.Or(spec.ToNode, "b-1")
	addr, err := h.Open(spec)
	must.Do(t, err)
	return addr
}

func dial(t testing.TB, addr string) *net.TCPConn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(context.Background(), "tcp", addr)
	must.Do(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(clock.System().Now().Add(30 * time.Second)) // no test hangs for ever
	return c.(*net.TCPConn)
}

func say(t testing.TB, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func hear(t testing.TB, c net.Conn, want string) {
	t.Helper()
	buf := make([]byte, len(want))
	if n, err := io.ReadFull(c, buf); err != nil || string(buf) != want {
		t.Fatalf("heard %q, %v; want %q", buf[:n], err, want)
	}
}

// silent says that nothing can be read from c for a short while.
func silent(t testing.TB, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(clock.System().Now().Add(30 * time.Millisecond))
	var b [1]byte
	if n, err := c.Read(b[:]); n > 0 || !isTimeout(err) {
		t.Fatalf("read %d bytes, %v; want silence", n, err)
	}
	_ = c.SetReadDeadline(clock.System().Now().Add(30 * time.Second))
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error) //nolint:errorlint // net.Conn returns it bare
	return ok && e.Timeout()
}

func apply(t testing.TB, h *link.Host, i link.Impairment) {
	t.Helper()
	if i.Direction == "" {
		i.Direction = link.Both
	}
	if i.ID == "" {
		i.ID = link.KindOf(i.Effect)
	}
	must.Do(t, h.Apply(i))
}

func heal(t testing.TB, h *link.Host, id string) {
	t.Helper()
	if contradicted := h.Heal(id); contradicted != "" {
		t.Fatal(contradicted)
	}
}

// mustReset dials and wants the connection to be reset, during the handshake or after it.
func mustReset(t testing.TB, addr string) {
	t.Helper()
	c, err := new(net.Dialer).DialContext(context.Background(), "tcp", addr)
	if err == nil {
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(clock.System().Now().Add(30 * time.Second))
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("new connection: got %v, want a reset", err)
	}
}
