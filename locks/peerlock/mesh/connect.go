package mesh

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	json "github.com/go-json-experiment/json/v1"

	"locklab/locks/clock"
)

// version is that of the wire format. Peers with different versions refuse each other.
const version = 4

// ErrRefused says that a peer does not fit: another version, cluster or protocol,
// or an identity that is not the configured one.
var ErrRefused = errors.New("mesh: refused")

// hello is the first frame of each side, in JSON.
type hello struct {
	Version     int    `json:"version"`
	Cluster     string `json:"cluster"`
	Protocol    string `json:"protocol"`
	ID          string `json:"id"`
	Rank        int    `json:"rank"`
	Incarnation uint64 `json:"incarnation"`
	Attempt     uint64 `json:"attempt"`           // counts the dials of one incarnation to this peer
	Refused     string `json:"refused,omitempty"` // why the sender refuses the receiver
}

func (m *Mesh) hello(attempt uint64, refused string) hello {
	return hello{
		Version: version, Cluster: m.cfg.Cluster, Protocol: m.cfg.Protocol,
		ID: m.cfg.Self.ID, Rank: m.cfg.Self.Rank, Incarnation: m.incarnation, Attempt: attempt, Refused: refused,
	}
}

// check returns the peer that sent h, or the reason to refuse it. It must be the dialed peer, or one
// that should dial this one.
func (m *Mesh) check(h hello, dialed *peer) (*peer, string) {
	switch {
	case h.Refused != "":
		return nil, fmt.Sprintf("by the other side: %.512q", h.Refused)
	case h.Version != version:
		return nil, fmt.Sprintf("wire version %d is not %d", h.Version, version)
	case h.Cluster != m.cfg.Cluster:
		return nil, fmt.Sprintf("cluster %q is not %q", h.Cluster, m.cfg.Cluster)
	case h.Protocol != m.cfg.Protocol:
		return nil, fmt.Sprintf("protocol %q is not %q", h.Protocol, m.cfg.Protocol)
	}
	at := slices.IndexFunc(m.peers, func(p *peer) bool { return p.ID == h.ID && p.Rank == h.Rank })
	switch {
	case at < 0:
		return nil, fmt.Sprintf("%q of rank %d is not configured as a peer of %q", h.ID, h.Rank, m.cfg.Self.ID)
	case dialed != nil && m.peers[at] != dialed:
		return nil, fmt.Sprintf("%q of rank %d answers, not %q", h.ID, h.Rank, dialed.ID)
	case dialed == nil && h.Rank > m.cfg.Self.Rank:
		return nil, fmt.Sprintf("%q should be dialed by %q, whose rank is lower", h.ID, m.cfg.Self.ID)
	}
	return m.peers[at], ""
}

// dial keeps one peer of a higher rank number connected.
func (m *Mesh) dial(ctx context.Context, p *peer) {
	rand := m.cfg.Seed.Child(m.cfg.Self.ID + " dials " + p.ID).Rand()
	backoff := BackoffMin
	for attempt := uint64(1); !m.closed(); attempt++ {
		var link *Link
		conn, err := (&net.Dialer{Timeout: handshake}).DialContext(ctx, "tcp", p.Addr)
		if err == nil {
			link, err = m.meet(ctx, conn, p, attempt)
		}
		if err == nil {
			backoff = BackoffMin
			m.run(link)
		} else if !m.closed() {
			err = fmt.Errorf("dial %s: %w", p.Addr, err)
			p.setProblem(err)
			if backoff == BackoffMin { // only after the first failed attempt
				m.cfg.Log.Warn("cannot connect to peer", "peer", p.ID, "rank", p.Rank, "err", err)
			}
		}
		// The pause is random, so that peers that lost each other at once do not stay in step.
		m.pause(backoff/2 + time.Duration(rand.Int64N(int64(backoff))))
		backoff = min(2*backoff, BackoffMax)
	}
}

// accept takes connections from peers of lower rank numbers.
func (m *Mesh) accept(ctx context.Context) {
	for {
		conn, err := m.cfg.Listener.Accept()
		if err != nil {
			if m.closed() || errors.Is(err, net.ErrClosed) {
				return
			}
			m.cfg.Log.Warn("cannot accept", "err", err) // may be temporary, such as too many open files
			m.pause(BackoffMax)
			continue
		}
		m.wg.Go(func() {
			switch l, err := m.meet(ctx, conn, nil, 0); {
			case err == nil:
				m.run(l)
			case !m.closed() && !errors.Is(err, io.EOF):
				m.cfg.Log.Warn("refused a connection", "from", conn.RemoteAddr().String(), "err", err)
			}
		})
	}
}

// meet makes a link of a connection; dialed is nil if the peer dialed. It closes the connection if
// the handshake fails, takes too long or the mesh is closed.
func (m *Mesh) meet(ctx context.Context, conn net.Conn, dialed *peer, attempt uint64) (*Link, error) {
	l := newLink(m, conn)
	end := func() { _ = conn.Close() }
	open := context.AfterFunc(ctx, end)
	err := conn.SetDeadline(clock.System().Now().Add(handshake))
	if err == nil {
		err = l.greet(dialed, attempt)
	}
	switch {
	case !open():
		err = ErrClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("no hello within %v: %w", handshake, ErrSilent)
	case err == nil:
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		end()
	}
	return l, err
}

// greet exchanges hellos. The side that dialed begins.
func (l *Link) greet(dialed *peer, attempt uint64) error {
	m := l.mesh
	if dialed != nil {
		if err := l.say(m.hello(attempt, "")); err != nil {
			return err
		}
	}
	h, err := l.hear()
	if err != nil {
		return err
	}
	p, why := m.check(h, dialed)
	if dialed == nil {
		if err := l.say(m.hello(h.Attempt, why)); err != nil {
			return err
		}
	}
	if why != "" {
		return fmt.Errorf("%s: %w", why, ErrRefused)
	}
	l.peer, l.incarnation, l.attempt = p, h.Incarnation, h.Attempt
	// The accepting side waits for a first heartbeat, which shows that the dialing side has received its
	// hello. Otherwise a delayed connection that the dialing side has given up would count.
	if dialed != nil {
		return l.writeFrame(nil)
	}
	if first, err := l.readFrame(); err != nil || len(first) > 0 {
		return fmt.Errorf("no heartbeat after hello: %w", errors.Join(err, errMalformed))
	}
	return nil
}

func (l *Link) say(h hello) error {
	text, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("write hello: %w", err)
	}
	return l.writeFrame(text)
}

func (l *Link) writeFrame(payload []byte) error {
	if _, err := l.conn.Write(append(binary.AppendUvarint(nil, uint64(len(payload))), payload...)); err != nil {
		return fmt.Errorf("write hello: %w", err)
	}
	return nil
}

func (l *Link) hear() (h hello, err error) {
	text, err := l.readFrame()
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("hello: %w: %w", errMalformed, err)
	}
	return h, nil
}
