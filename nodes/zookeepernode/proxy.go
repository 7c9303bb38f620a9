package zookeepernode

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"locklab/locks/clock"
)

// proxy forwards the connections of a server to the links of their addresses, until the process ends. It
// speaks SOCKS 4, which Java supports: CONNECT to an IPv4 address.
func proxy(listener net.Listener, links map[string]string) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go serve(conn, links)
	}
}

// The codes of an answer.
const (
	granted  = 90
	rejected = 91
)

func serve(in net.Conn, links map[string]string) {
	defer func() { _ = in.Close() }()
	answer := func(code byte) error {
		_, err := in.Write([]byte{0, code, 0, 0, 0, 0, 0, 0})
		return err
	}
	to, err := readRequest(bufio.NewReader(in)) // the client sends nothing more before the answer
	if err != nil {
		return
	}
	out, err := net.Dial("tcp", links[to]) //nolint:noctx // ends with the process
	if err != nil {
		_ = answer(rejected) // the server closes the connection then
		return
	}
	defer func() { _ = out.Close() }()
	said, open := settled(out)
	if !open {
		_ = answer(rejected)
		return
	}
	if answer(granted) != nil {
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

// readRequest returns the requested address, IP:port.
func readRequest(from *bufio.Reader) (string, error) {
	var request struct {
		Version, Command byte
		Port             uint16
		IP               [4]byte
	}
	err := binary.Read(from, binary.BigEndian, &request)
	if err == nil {
		_, err = from.ReadBytes(0) // the user's name
	}
	return netip.AddrPortFrom(netip.AddrFrom4(request.IP), request.Port).String(), err
}

// settle is the time for a link, which accepts every connection, to find out that no server listens
// at its other end. A refused server tries again; one whose connection is closed gives up, and
// starts another election.
const settle = 50 * time.Millisecond

// settled reports whether a connection lasts, and returns the data that it has sent so far.
func settled(out net.Conn) (said []byte, open bool) {
	one := make([]byte, 1)
	_ = out.SetReadDeadline(clock.System().Now().Add(settle)) // if this fails, so does Read
	n, err := out.Read(one)
	if n == 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, false
	}
	return one[:n], out.SetReadDeadline(time.Time{}) == nil
}

// pass forwards one direction. When it ends, it closes both connections.
func pass(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_ = from.Close()
	_ = to.Close()
}
