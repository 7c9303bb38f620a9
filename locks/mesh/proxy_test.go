package mesh_test

import (
	"net"
	"sync"
	"testing"
)

// proxy stands between two peers and misbehaves on demand, as a link of the lab
// does while a fault is on.
type proxy struct {
	l      net.Listener
	target string
	wg     sync.WaitGroup

	mu     sync.Mutex
	cond   *sync.Cond
	mode   proxyMode
	keep   int // bytes at the end of what came that wait for more
	tape   []byte
	upTape []byte
	conns  []net.Conn
}

type proxyMode int

const (
	pass   proxyMode = iota
	hold             // takes bytes and keeps them until it passes again
	refuse           // accepts, then resets
)

func newProxy(tb testing.TB, target string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{l: l, target: target}
	p.cond = sync.NewCond(&p.mu)
	p.wg.Go(p.accept)
	tb.Cleanup(func() {
		_ = l.Close()
		p.set(refuse)
		p.wg.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.l.Addr().String() }

// set changes the mode; refuse also resets what is open.
func (p *proxy) set(mode proxyMode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
	if mode == refuse {
		for _, c := range p.conns {
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}
		p.conns = nil
	}
	p.cond.Broadcast()
}

// said is all that went through; saidUp what the dialing side said.
func (p *proxy) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.tape)
}

func (p *proxy) saidUp() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.upTape)
}

// cut has the last bytes of everything come late: when more does.
func (p *proxy) cut(bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep = bytes
}

func (p *proxy) accept() {
	for {
		in, err := p.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target)
		p.mu.Lock()
		if err != nil || p.mode == refuse {
			_ = in.(*net.TCPConn).SetLinger(0)
			_ = in.Close()
			if out != nil {
				_ = out.Close()
			}
			p.mu.Unlock()
			continue
		}
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		p.wg.Go(func() { p.pump(in, out, &p.upTape) })
		p.wg.Go(func() { p.pump(out, in, nil) })
	}
}

func (p *proxy) pump(from, to net.Conn, tape *[]byte) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buf, kept := make([]byte, 4096), 0
	for {
		n, err := from.Read(buf[kept:])
		p.mu.Lock()
		for p.mode == hold {
			p.cond.Wait()
		}
		keep := p.keep
		p.tape = append(p.tape, buf[kept:kept+n]...)
		if tape != nil {
			*tape = append(*tape, buf[kept:kept+n]...)
		}
		p.mu.Unlock()
		n += kept
		if kept = min(keep, n); n > kept {
			if _, err := to.Write(buf[:n-kept]); err != nil {
				return
			}
			copy(buf, buf[n-kept:n])
		}
		if err != nil {
			return
		}
	}
}
