package zookeepernode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"locklab/locks/clock"
)

// proxy is the SOCKS 5 (RFC 1928) that Java speaks: CONNECT to an IP, without authentication.
type proxy struct {
	listener net.Listener
	links    map[string]string // by the address that a link leads to
	running  sync.WaitGroup
	ctx      context.Context //nolint:containedctx // of the calls that it makes
	cancel   context.CancelFunc
}

func startProxy(listener net.Listener, links map[string]string) *proxy {
	p := &proxy{listener: listener, links: links}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(conn) })
		}
	})
	return p
}

func (p *proxy) port() string { return fmt.Sprint(p.listener.Addr().(*net.TCPAddr).Port) }

// close ends all that goes through the proxy.
func (p *proxy) close() {
	p.cancel()
	_ = p.listener.Close() // nobody calls any more
	p.running.Wait()
}

// The answers to a request.
const (
	granted     = 0
	refused     = 2 // no link leads there
	unreachable = 4
)

func (p *proxy) serve(in net.Conn) {
	defer func() { _ = in.Close() }()
	stop := context.AfterFunc(p.ctx, func() { _ = in.Close() })
	defer stop()
	to, err := readRequest(in)
	if err != nil {
		return
	}
	link, known := p.links[to]
	if !known {
		_ = answer(in, refused) // it hangs up then
		return
	}
	out, err := new(net.Dialer).DialContext(p.ctx, "tcp", link)
	if err != nil {
		_ = answer(in, unreachable)
		return
	}
	defer func() { _ = out.Close() }()
	stopOut := context.AfterFunc(p.ctx, func() { _ = out.Close() })
	defer stopOut()
	said, open := settled(out)
	if !open {
		_ = answer(in, unreachable)
		return
	}
	if answer(in, granted) != nil {
		return
	}
	if _, err := in.Write(said); err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { pass(out, in) })
	pass(in, out)
	back.Wait()
}

// settle is how long a link has to find out that nobody listens at its other end: it takes
// every call first. A server that is refused tries again; one that is hung up on gives up, and
// has the others vote again.
const settle = 50 * time.Millisecond

// settled says whether a call lasts, and what was said already.
func settled(out net.Conn) (said []byte, open bool) {
	one := make([]byte, 1)
	_ = out.SetReadDeadline(clock.System().Now().Add(settle)) // what fails here fails below
	n, err := out.Read(one)
	if n == 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, false
	}
	return one[:n], out.SetReadDeadline(time.Time{}) == nil
}

// pass carries one direction. Its end is the end of both: servers do not speak to who hung up.
func pass(from, to net.Conn) {
	_, _ = io.Copy(to, from) // any end is an end
	_ = from.Close()
	_ = to.Close()
}

func answer(to net.Conn, code byte) error {
	_, err := to.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0}) // nobody asks where from it is called
	return err
}

var errProtocol = errors.New("not a call that ZooKeeper makes")

// readRequest returns where to connect, as IP:port.
func readRequest(conn net.Conn) (string, error) {
	read := func(n int) ([]byte, error) {
		b := make([]byte, n)
		_, err := io.ReadFull(conn, b)
		return b, err
	}
	hello, err := read(2) // version, number of ways to authenticate
	if err != nil || hello[0] != 5 {
		return "", errors.Join(err, errProtocol)
	}
	ways, err := read(int(hello[1]))
	if err != nil || !slices.Contains(ways, 0) {
		return "", errors.Join(err, errProtocol)
	}
	if _, err := conn.Write([]byte{5, 0}); err != nil {
		return "", err
	}
	request, err := read(4) // version, command, nothing, kind of address
	if err != nil || request[1] != 1 {
		return "", errors.Join(err, errProtocol)
	}
	size, known := map[byte]int{1: 4, 4: 16}[request[3]]
	if !known {
		return "", errProtocol
	}
	rest, err := read(size + 2)
	if err != nil {
		return "", err
	}
	ip, _ := netip.AddrFromSlice(rest[:size]) // it has the length of one
	return netip.AddrPortFrom(ip.Unmap(), uint16(rest[size])<<8|uint16(rest[size+1])).String(), nil
}
