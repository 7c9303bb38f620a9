package locktest

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
)

// Link forwards connections to one address, and can make network faults.
type Link struct {
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	changed sync.Cond
	target  string
	cut     bool
	held    bool
	deaf    bool
	cutAt   string // text that cuts the link; "" for none
	conns   map[net.Conn]struct{}
}

// NewLink makes a link that is closed when the test ends.
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

// Addr is the address to dial.
func (l *Link) Addr() string { return l.listener.Addr().String() }

func (l *Link) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	l.changed.Broadcast()
}

// To sets the target of new connections.
func (l *Link) To(target string) { l.set(func() { l.target = target }) }

// Cut cuts or heals the link. A cut link resets all connections, open and new.
func (l *Link) Cut(cut bool) { l.set(func() { l.turn(cut) }) }

// CutAt cuts the link when the dialing side sends this text, before it arrives.
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

// Hold delays all data until it is called with false. New connections are accepted.
func (l *Link) Hold(hold bool) { l.set(func() { l.held = hold }) }

// Deafen drops all data from the target until the link is cut.
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
