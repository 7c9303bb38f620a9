package raftnode_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// link forwards connections to one address until it is cut. Cutting resets what is
// open and refuses what is new; the lab's own links can do more.
type link struct {
	lis net.Listener
	wg  sync.WaitGroup

	mu     sync.Mutex
	target string // "" refuses
	cut    bool
	conns  map[net.Conn]struct{}
}

func newLink(tb testing.TB) *link {
	tb.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	l := &link{lis: lis, conns: map[net.Conn]struct{}{}}
	l.wg.Go(l.serve)
	tb.Cleanup(func() {
		_ = lis.Close()
		l.set(true)
		l.wg.Wait()
	})
	return l
}

func (l *link) addr() string { return l.lis.Addr().String() }

// to changes where new connections go.
func (l *link) to(target string) *link {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = target
	return l
}

func (l *link) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	if cut {
		for c := range l.conns {
			_ = c.Close()
		}
	}
}

func (l *link) track(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		_ = c.Close()
		return false
	}
	l.conns[c] = struct{}{}
	return true
}

func (l *link) drop(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	_ = c.Close()
}

func (l *link) serve() {
	for {
		in, err := l.lis.Accept()
		if err != nil {
			return
		}
		if !l.track(in) {
			continue
		}
		l.mu.Lock()
		target := l.target
		l.mu.Unlock()
		out, err := net.Dial("tcp", target)
		if err != nil || !l.track(out) {
			l.drop(in)
			continue
		}
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			l.wg.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				l.drop(in)
				l.drop(out)
			})
		}
	}
}
