package link

import (
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

// The echo protocol. A connection starts with a hello: the magic number, one byte
// with the length of the origin's name, the name. Then come frames, which the
// echo service sends back with the time at which it had read them:
//
//	magic uint32 | padding uint32 | sequence uint64 | sent at uint64 | echoed at uint64 | padding
//
// Big-endian. "Sent at" is of the origin's clock, "echoed at" of the echo service's.
const (
	magic        = 0x6c6f636b
	frameBytes   = 32
	maxPadding   = 16 << 10
	maxNameBytes = 100
	maxOrigins   = 1024
	maxEchoConns = 1024
)

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
	origin, err := readHello(c)
	if err != nil {
		return err
	}
	frame := make([]byte, frameBytes, frameBytes+maxPadding)
	for {
		var sequence uint64
		frame, sequence, _, err = readFrame(c, frame)
		if err != nil {
			return err
		}
		e.remember(origin, sequence)
		binary.BigEndian.PutUint64(frame[24:], uint64(clock.Mono())) //nolint:gosec // only carried
		if _, err := c.Write(frame); err != nil {
			return fmt.Errorf("answer probe: %w", err)
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

func writeHello(w io.Writer, name string) error {
	b := binary.BigEndian.AppendUint32(nil, magic)
	b = append(b, byte(len(name)))
	if _, err := w.Write(append(b, name...)); err != nil {
		return fmt.Errorf("write hello: %w", err)
	}
	return nil
}

func readHello(r io.Reader) (name string, err error) {
	b := make([]byte, 5, 5+maxNameBytes)
	if _, err := io.ReadFull(r, b); err != nil {
		return "", fmt.Errorf("read hello: %w", err)
	}
	size := int(b[4])
	if binary.BigEndian.Uint32(b) != magic || size == 0 || size > maxNameBytes {
		return "", errProtocol
	}
	b = b[:size]
	if _, err := io.ReadFull(r, b); err != nil {
		return "", fmt.Errorf("read hello: %w", err)
	}
	return string(b), nil
}

func putFrame(b []byte, padding int, sequence uint64, sent int64) []byte {
	b = binary.BigEndian.AppendUint32(b[:0], magic)
	b = binary.BigEndian.AppendUint32(b, uint32(padding)) //nolint:gosec // at most maxPadding
	b = binary.BigEndian.AppendUint64(b, sequence)
	b = binary.BigEndian.AppendUint64(b, uint64(sent)) //nolint:gosec // only carried
	b = binary.BigEndian.AppendUint64(b, 0)
	return append(b, make([]byte, padding)...)
}

// readFrame reads a frame into buf, grown as needed, and returns it whole.
func readFrame(r io.Reader, buf []byte) (frame []byte, sequence uint64, sent int64, err error) {
	buf = buf[:frameBytes]
	if _, err := io.ReadFull(r, buf); err != nil {
		return buf, 0, 0, fmt.Errorf("read frame: %w", err)
	}
	padding := binary.BigEndian.Uint32(buf[4:])
	if binary.BigEndian.Uint32(buf) != magic || padding > maxPadding {
		return buf, 0, 0, errProtocol
	}
	sequence = binary.BigEndian.Uint64(buf[8:])
	sent = int64(binary.BigEndian.Uint64(buf[16:])) //nolint:gosec // only carried
	if padding > 0 {
		buf = append(buf, make([]byte, padding)...)
		if _, err := io.ReadFull(r, buf[frameBytes:]); err != nil {
			return buf, 0, 0, fmt.Errorf("read frame: %w", err)
		}
	}
	return buf, sequence, sent, nil
}
