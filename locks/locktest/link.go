package locktest

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
)

// Link forwards connections to one address, and misbehaves when it is told to. The lab's
// own links can do more.
type Link struct {
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	changed sync.Cond
	target  string
	cut     bool
	held    bool
	deaf    bool
	cutAt   string // what cuts the link, "" nothing
	conns   map[net.Conn]struct{}
}

// NewLink makes one that the test closes at its end.
func NewLink(tb testing.TB, target string) *Link {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	l := &Link{listener: listener, target: target, conns: map[net.Conn]struct{}{}}
	l.changed.L = &l.mu
	l.running.Go(l.serve)
	tb.Cleanup(func() {
		_ = listener.Close()
		l.Cut(true)
		l.running.Wait()
	})
	return l
}

// Addr is what to dial.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// set changes how the link behaves.
func (l *Link) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	l.changed.Broadcast()
}

// To changes where new connections go.
func (l *Link) To(target string) { l.set(func() { l.target = target }) }

// Cut cuts the link, or heals it: what is open is reset, and what is new, too.
func (l *Link) Cut(cut bool) { l.set(func() { l.turn(cut) }) }

// CutAt cuts the link in place of carrying what has this in it from who dialed.
func (l *Link) CutAt(text string) { l.set(func() { l.cutAt = text }) }

func (l *Link) turn(cut bool) {
	l.cut = cut
	if cut {
		l.deaf = false
		for c := range l.conns {
			reset(c)
		}
	}
}

// Hold keeps what comes until the link is let go again. New connections are taken.
func (l *Link) Hold(hold bool) { l.set(func() { l.held = hold }) }

// Deafen loses what comes from who was dialed, until the link is cut.
func (l *Link) Deafen() { l.set(func() { l.deaf = true }) }

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // so that Close resets
	}
	_ = c.Close()
}

func (l *Link) serve() {
	for {
		in, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		target := l.target
		l.mu.Unlock()
		out, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", target)
		if err != nil {
			reset(in)
			continue
		}
		l.mu.Lock()
		if l.cut {
			reset(in)
			reset(out)
		}
		l.conns[in], l.conns[out] = struct{}{}, struct{}{}
		l.mu.Unlock()
		l.running.Go(func() { l.pump(in, out, 0) })
		l.running.Go(func() { l.pump(out, in, 1) })
	}
}

func (l *Link) pump(from, to net.Conn, way int) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, c := range []net.Conn{from, to} {
			delete(l.conns, c)
			_ = c.Close()
		}
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		l.mu.Lock()
		for l.held && !l.cut {
			l.changed.Wait()
		}
		if way == 0 && l.cutAt != "" && bytes.Contains(buf[:n], []byte(l.cutAt)) {
			l.turn(true)
		}
		if way == 1 && l.deaf {
			n = 0
		}
		l.mu.Unlock()
		if _, closed := to.Write(buf[:n]); closed != nil || err != nil {
			return
		}
	}
}
