package link

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"sync"

	"locklab/locks/clock"
)

// The echo protocol. A connection starts with a hello: the origin's name in a line. Then come
// frames, each before as many bytes as its padding says, which the echo service sends back with
// the time at which it had read them.
const (
	magic        = 0x6c6f636b
	frameBytes   = 32
	maxPadding   = 16 << 10
	maxNameBytes = 100
	maxOrigins   = 1024
	maxEchoConns = 1024
)

// frame is one probe, or its answer, in big-endian.
type frame struct {
	Magic, Padding uint32
	Sequence       uint64
	Sent           int64 // by the origin's clock
	Echoed         int64 // by the echo service's
}

var errProtocol = errors.New("link: not the echo protocol")

// echo answers probes and remembers whom it heard.
type echo struct {
	ln         *net.TCPListener
	advertised string
	wg         sync.WaitGroup

	mu    sync.Mutex
	conns map[*net.TCPConn]struct{}
	heard map[string]heardFrom
	done  bool
}

type heardFrom struct {
	sequence uint64
	at       int64 // clock.Mono
}

func newEcho(config Config) (*echo, error) {
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", config.EchoListen)
	if err != nil {
		return nil, fmt.Errorf("start echo service of host %q: %w", config.Host, err)
	}
	e := &echo{
		ln: ln.(*net.TCPListener), advertised: config.EchoAdvertise,
		conns: map[*net.TCPConn]struct{}{}, heard: map[string]heardFrom{},
	}
	if e.advertised == "" {
		e.advertised = ln.Addr().String()
	}
	e.wg.Go(func() { accept(e.ln, config.Log, e.take) })
	return e, nil
}

// take answers on a new connection until it ends.
func (e *echo) take(c *net.TCPConn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done || len(e.conns) >= maxEchoConns {
		reset(c)
		return
	}
	e.conns[c] = struct{}{}
	e.wg.Go(func() {
		_ = e.serve(c) // the prober counts what failed
		e.mu.Lock()
		delete(e.conns, c)
		e.mu.Unlock()
		_ = c.Close()
	})
}

func (e *echo) serve(c *net.TCPConn) error {
	r := bufio.NewReader(c)
	origin, err := r.ReadSlice('\n')
	if err != nil || len(origin) > maxNameBytes+1 {
		return errProtocol
	}
	from := string(origin[:len(origin)-1])
	for {
		f, err := readFrame(r)
		if err != nil {
			return err
		}
		e.remember(from, f.Sequence)
		f.Echoed = clock.Mono()
		if err := f.write(c); err != nil {
			return err
		}
	}
}

func (e *echo) remember(origin string, sequence uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.heard[origin]; known || len(e.heard) < maxOrigins {
		e.heard[origin] = heardFrom{sequence, clock.Mono()}
	}
}

func (e *echo) report() map[string]heardFrom {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.heard)
}

func (e *echo) clear() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.heard)
}

func (e *echo) close() {
	e.mu.Lock()
	e.done = true
	_ = e.ln.Close() // ends accept
	for c := range e.conns {
		_ = c.Close() // ends its serve
	}
	e.mu.Unlock()
	e.wg.Wait()
}

// write sends a frame and its padding, at once.
func (f frame) write(w io.Writer) error {
	f.Magic = magic
	b, err := binary.Append(nil, binary.BigEndian, f)
	if err == nil {
		_, err = w.Write(append(b, make([]byte, f.Padding)...))
	}
	return err
}

func readFrame(r io.Reader) (f frame, err error) {
	if err := binary.Read(r, binary.BigEndian, &f); err != nil {
		return f, err
	}
	if f.Magic != magic || f.Padding > maxPadding {
		return f, errProtocol
	}
	_, err = io.CopyN(io.Discard, r, int64(f.Padding))
	return f, err
}
