package peertest

import (
	"net"
	"sync"
	"testing"
)

// Proxy stands between two peers. While it is cut, every connection through it is
// reset.
type Proxy struct {
	l      net.Listener
	target string
	wg     sync.WaitGroup

	mu    sync.Mutex
	isCut bool
	conns []net.Conn
}

// NewProxy forwards connections to the target until the test ends.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	p := &Proxy{l: Listen(tb, "127.0.0.1:0"), target: target}
	p.wg.Go(p.accept)
	tb.Cleanup(func() {
		_ = p.l.Close()
		p.Cut(true)
		p.wg.Wait()
	})
	return p
}

// Addr is what to dial in place of the target.
func (p *Proxy) Addr() string { return p.l.Addr().String() }

// Cut resets all connections and every new one, or lets new ones through again.
func (p *Proxy) Cut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = cut
	if cut {
		for _, c := range p.conns {
			reset(c)
		}
		p.conns = nil
	}
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // so that Close resets
	}
	_ = c.Close()
}

func (p *Proxy) accept() {
	for {
		in, err := p.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target) //nolint:noctx // loopback answers at once
		if err != nil {
			reset(in)
			continue
		}
		p.mu.Lock()
		if p.isCut {
			reset(in)
			reset(out)
			p.mu.Unlock()
			continue
		}
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		p.wg.Go(func() { pump(in, out) })
		p.wg.Go(func() { pump(out, in) })
	}
}

func pump(from, to net.Conn) {
	defer func() { _ = from.Close() }()
	defer func() { _ = to.Close() }()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
