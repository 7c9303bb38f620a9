package mesh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"locklab/locks/clock"
)

// dial keeps one peer of a higher rank number connected.
func (m *Mesh) dial(ctx context.Context, p *peer) {
	rand := m.cfg.Seed.Child(m.cfg.Self.ID + " dials " + p.ID).Rand()
	backoff := m.cfg.Timing.BackoffMin
	said := ""
	for attempt := uint64(1); !m.closed(); attempt++ {
		link, err := m.dialOnce(ctx, p, attempt)
		if err == nil {
			backoff, said = m.cfg.Timing.BackoffMin, ""
			m.run(p, link)
		} else if !m.closed() {
			err = fmt.Errorf("dial %s: %w", p.Addr, err)
			p.setProblem(err)
			if text := err.Error(); text != said { // once, not at every attempt
				said = text
				m.cfg.Log.Warn("cannot connect to peer", "peer", p.ID, "rank", p.Rank, "err", err)
			}
		}
		// Half of the pause is random, so that peers that lost each other at the
		// same moment do not stay in step.
		m.pause(backoff/2 + time.Duration(rand.Int64N(int64(backoff))))
		backoff = min(2*backoff, m.cfg.Timing.BackoffMax)
		if errors.Is(err, ErrRefused) { // a person has to change something first
			const patience = 8
			backoff = patience * m.cfg.Timing.BackoffMax
		}
	}
}

func (m *Mesh) dialOnce(ctx context.Context, p *peer, attempt uint64) (*Link, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	late := m.cfg.Clock.AfterFunc(m.cfg.Timing.Handshake, cancel)
	defer late.Stop()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", p.Addr)
	if err != nil {
		return nil, err
	}
	var h hello
	err = m.handshake(conn, func() error {
		if err := writeFrame(conn, m.hello(attempt).encode()); err != nil {
			return err
		}
		var err error
		if h, err = readHello(conn); err != nil {
			return err
		}
		got, why := m.check(h)
		if why == "" && got != p {
			why = fmt.Sprintf("%q of rank %d answers, not %q", h.ID, h.Rank, p.ID)
		}
		if why != "" {
			return fmt.Errorf("%s: %w", why, ErrRefused)
		}
		// The first heartbeat tells the other side that this end is alive and took
		// its hello: a connection that was held up on its way and given up here
		// must not count there.
		return writeFrame(conn, nil)
	})
	if err != nil {
		return nil, err
	}
	h.Attempt = attempt
	return newLink(m, p, conn, h), nil
}

// accept takes connections from peers of lower rank numbers.
func (m *Mesh) accept() {
	for {
		conn, err := m.cfg.Listener.Accept()
		if err != nil {
			if m.closed() || errors.Is(err, net.ErrClosed) {
				return
			}
			m.cfg.Log.Warn("cannot accept", "err", err) // such as too many open files: it may pass
			m.pause(m.cfg.Timing.BackoffMax)
			continue
		}
		select {
		case m.handshakes <- struct{}{}:
		default:
			_ = conn.Close() // too many that say nothing; a peer dials again
			continue
		}
		m.wg.Go(func() {
			p, link, err := m.answer(conn)
			<-m.handshakes
			switch {
			case err == nil:
				m.run(p, link)
			case !m.closed() && !errors.Is(err, io.EOF):
				m.complain(conn, err)
			}
		})
	}
}

// complain logs why a connection was refused, once in a row: a peer that does not
// fit goes on to dial.
func (m *Mesh) complain(conn net.Conn, err error) {
	m.mu.Lock()
	again := m.complaint == err.Error()
	m.complaint = err.Error()
	m.mu.Unlock()
	if !again {
		m.cfg.Log.Warn("refused a connection", "from", conn.RemoteAddr().String(), "err", err)
	}
}

func (m *Mesh) answer(conn net.Conn) (p *peer, link *Link, err error) {
	var h hello
	err = m.handshake(conn, func() error {
		var why string
		if h, err = readHello(conn); err != nil {
			return err
		}
		if p, why = m.check(h); why == "" && p.Rank > m.cfg.Self.Rank {
			why = fmt.Sprintf("%q should be dialed by %q, whose rank is lower", p.ID, m.cfg.Self.ID)
		}
		if why != "" {
			_ = writeFrame(conn, encodeRefuse(why)) // a courtesy: the log here has it too
			return fmt.Errorf("%s: %w", why, ErrRefused)
		}
		if err := writeFrame(conn, m.hello(h.Attempt).encode()); err != nil {
			return err
		}
		if first, err := (byteReader{conn}).ReadByte(); err != nil || first != 0 {
			return fmt.Errorf("no heartbeat after hello: %w", errors.Join(err, errMalformed))
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return p, newLink(m, p, conn, h), nil
}

func (m *Mesh) hello(attempt uint64) hello {
	return hello{
		Version: version, Cluster: m.cfg.Cluster, Protocol: m.cfg.Protocol,
		ID: m.cfg.Self.ID, Rank: uint64(m.cfg.Self.Rank), Incarnation: m.cfg.Incarnation, Attempt: attempt,
	}
}

// handshake runs talk and closes conn if it fails, takes too long or the mesh is
// closed.
func (m *Mesh) handshake(conn net.Conn, talk func() error) error {
	m.mu.Lock()
	if m.closed() {
		m.mu.Unlock()
		_ = conn.Close()
		return ErrClosed
	}
	m.conns[conn] = struct{}{}
	m.mu.Unlock()
	late := m.cfg.Clock.AfterFunc(m.cfg.Timing.Handshake, func() { _ = conn.Close() })
	err := talk()
	if !late.Stop() && err == nil {
		err = fmt.Errorf("no hello within %v: %w", m.cfg.Timing.Handshake, ErrSilent)
	}
	m.mu.Lock()
	delete(m.conns, conn)
	m.mu.Unlock()
	if err == nil && m.closed() {
		err = ErrClosed
	}
	if err != nil {
		_ = conn.Close()
	}
	return err
}

func (m *Mesh) pause(d time.Duration) {
	clock.Await(m.cfg.Clock, d, m.done)
}
