package mesh_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/peerlock/mesh"
	"locklab/verify/peertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience ends a test that hangs.
const patience = 20 * time.Second

// recorder is a Handler that checks the order of calls and passes them on.
type recorder struct {
	tb     testing.TB
	events chan event
	echo   bool // answer every payload with the same

	mu    sync.Mutex
	links map[int]*mesh.Link
}

type event struct {
	kind  string // up, down, or the payload
	rank  int
	link  *mesh.Link
	cause error
}

func newRecorder(tb testing.TB) *recorder {
	return &recorder{tb: tb, events: make(chan event, 100_000), links: map[int]*mesh.Link{}}
}

func (r *recorder) Connected(l *mesh.Link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.links[l.Rank()] != nil {
		r.tb.Errorf("rank %d is connected twice", l.Rank())
	}
	r.links[l.Rank()] = l
	r.events <- event{kind: "up", rank: l.Rank(), link: l}
}

func (r *recorder) Disconnected(l *mesh.Link, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.links[l.Rank()] != l {
		r.tb.Errorf("rank %d is disconnected from another link than it was connected to", l.Rank())
	}
	delete(r.links, l.Rank())
	r.events <- event{kind: "down", rank: l.Rank(), link: l, cause: cause}
}

func (r *recorder) Receive(l *mesh.Link, payload []byte) error {
	r.mu.Lock()
	if r.links[l.Rank()] != l {
		r.tb.Errorf("a payload of rank %d comes over a link that is not connected", l.Rank())
	}
	r.mu.Unlock()
	switch {
	case string(payload) == "bad":
		return errors.New("bad payload")
	case r.echo:
		l.Send(payload)
	default:
		r.events <- event{kind: string(payload), rank: l.Rank(), link: l}
	}
	return nil
}

// want waits for the next event, which must be of the kind.
func (r *recorder) want(kind string) event {
	r.tb.Helper()
	e, came := clock.Await(clock.System(), patience, r.events)
	if !came || e.kind != kind {
		r.tb.Fatalf("want %q, got %q (rank %d, %v)", kind, e.kind, e.rank, e.cause)
	}
	return e
}

func start(tb testing.TB, cfg mesh.Config) *mesh.Mesh {
	tb.Helper()
	m, err := mesh.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = m.Close() })
	return m
}

// pair is two peers, the first of which dials through a link.
type pair struct {
	link   *locktest.Link
	cfg    [2]mesh.Config
	events [2]*recorder
	mesh   [2]*mesh.Mesh
}

func newPair(tb testing.TB, change func(cfg *[2]mesh.Config)) *pair {
	tb.Helper()
	p := &pair{}
	l0, l1 := peertest.Listen(tb, "127.0.0.1:0"), peertest.Listen(tb, "127.0.0.1:0")
	p.link = locktest.NewLink(tb, l1.Addr().String())
	a, b := mesh.Peer{ID: "a", Rank: 0}, mesh.Peer{ID: "b", Rank: 1, Addr: p.link.Addr()}
	for i := range p.events {
		p.events[i] = newRecorder(tb)
	}
	p.cfg = [2]mesh.Config{
		{Self: a, Peers: []mesh.Peer{b}, Listener: l0, Handler: p.events[0]},
		{Self: b, Peers: []mesh.Peer{a}, Listener: l1, Handler: p.events[1]},
	}
	if change != nil {
		change(&p.cfg)
	}
	for i := range p.mesh {
		p.mesh[i] = start(tb, p.cfg[i])
	}
	return p
}

func TestManySendersLoseNothing(t *testing.T) {
	p := newPair(t, func(cfg *[2]mesh.Config) { cfg[1].Handler.(*recorder).echo = true })
	up := p.events[0].want("up")
	p.events[1].want("up")
	const senders, each = 8, 2000
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				up.link.Send(fmt.Appendf(nil, "%d/%d", s, i))
				p.mesh[0].FlushTogether()
			}
		})
	}
	var next [senders]int
	for range senders * each {
		e := <-p.events[0].events
		var s, i int
		if _, err := fmt.Sscanf(e.kind, "%d/%d", &s, &i); err != nil || next[s] != i {
			t.Fatalf("got %q, want %d/%d", e.kind, s, next[s])
		}
		next[s]++
	}
	wg.Wait()
}

func TestSilenceIsNoticedAndRepaired(t *testing.T) {
	p := newPair(t, nil)
	lost := p.events[0].want("up").link
	p.events[1].want("up")
	p.link.Hold(true)
	lost.Send([]byte("too late"))
	lost.Flush()
	for i := range p.events {
		if e := p.events[i].want("down"); !errors.Is(e.cause, mesh.ErrSilent) && i == 0 {
			t.Errorf("peer %d: want ErrSilent, got %v", i, e.cause)
		}
	}
	lost.Send([]byte("never"))
	p.link.Hold(false)
	p.events[0].want("up").link.Send([]byte("new"))
	p.mesh[0].Flush()
	p.events[1].want("up")
	p.events[1].want("new") // and nothing that was meant for the lost connection
}

func TestResetIsRepaired(t *testing.T) {
	p := newPair(t, nil)
	for range 3 {
		p.events[0].want("up")
		p.events[1].want("up")
		p.link.Cut(true)
		p.events[0].want("down")
		p.events[1].want("down")
		if s := p.mesh[0].Status()[0]; s.Up || s.Problem == nil {
			t.Errorf("status is %+v", s)
		}
		p.link.Cut(false)
	}
	p.events[0].want("up")
	p.events[1].want("up")
	if s := p.mesh[0].Status()[0]; !s.Up || s.Problem != nil {
		t.Errorf("status is %+v", s)
	}
}

func TestPeerThatSaysNothingIsDialedAgain(t *testing.T) {
	p := newPair(t, nil)
	p.events[0].want("up")
	p.link.Hold(true) // dials still succeed, but nobody says hello
	p.events[0].want("down")
	locktest.Eventually(t, "no hello in time", func() bool {
		return strings.Contains(fmt.Sprint(p.mesh[0].Status()[0].Problem), "no hello")
	})
	p.link.Hold(false)
	p.events[0].want("up")
}

// byHand is a peer that speaks the protocol by hand, and the link of a mesh to it.
func byHand(t *testing.T) (net.Conn, *mesh.Link, *recorder) {
	t.Helper()
	l, events := peertest.Listen(t, "127.0.0.1:0"), newRecorder(t)
	start(t, mesh.Config{Self: mesh.Peer{ID: "b", Rank: 1}, Peers: []mesh.Peer{{ID: "a", Rank: 0}}, Listener: l, Handler: events})
	conn, err := net.Dial("tcp", l.Addr().String())
	must.Do(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	hello := `{"version":4,"id":"a","incarnation":9,"attempt":1}`
	_, err = conn.Write(append([]byte{byte(len(hello))}, hello...))
	must.Do(t, err)
	answer := make([]byte, 1)
	_, err = io.ReadFull(conn, answer)
	must.Do(t, err)
	_, err = io.ReadFull(conn, make([]byte, answer[0]))
	must.Do(t, err)
	_, err = conn.Write([]byte{0})
	must.Do(t, err)
	return conn, events.want("up").link, events
}

// TestSlowReader sends far more than a socket holds to a peer that reads late, and says all the
// while that it lives. It is not disconnected, no sender waits, and all arrives in order.
func TestSlowReader(t *testing.T) {
	conn, link, events := byHand(t)
	const payloads, size = 1000, 60_000
	for i := range payloads {
		link.Send(binary.BigEndian.AppendUint32(make([]byte, size-4), uint32(i)))
		link.Flush()
		if i%100 == 0 {
			_, err := conn.Write([]byte{0})
			must.Do(t, err)
		}
	}
	frames, payload := bufio.NewReader(conn), make([]byte, size)
	for i := 0; i < payloads; {
		n, err := binary.ReadUvarint(frames)
		must.Do(t, err)
		if n == 0 { // a heartbeat
			continue
		}
		_, err = io.ReadFull(frames, payload)
		must.Do(t, err)
		if got := binary.BigEndian.Uint32(payload[size-4:]); n != size || got != uint32(i) {
			t.Fatalf("payload %d of %d bytes, want %d", got, n, i)
		}
		_, err = conn.Write([]byte{0})
		must.Do(t, err)
		i++
	}
	if n := len(events.events); n > 0 {
		t.Errorf("%d events: %q", n, (<-events.events).kind)
	}
}

func TestBrokenProtocolEndsTheLink(t *testing.T) {
	for name, bytes := range map[string][]byte{
		"a frame too large":   binary.AppendUvarint(nil, 1<<30),
		"a length too long":   bytes.Repeat([]byte{0xff}, 16),
		"handler says no":     append([]byte{3}, "bad"...),
		"ends within a frame": {200, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			conn, _, events := byHand(t)
			_, err := conn.Write(bytes)
			must.Do(t, err)
			if name == "ends within a frame" {
				_ = conn.Close()
			}
			events.want("down")
		})
	}
}

func TestMismatchIsRefusedWithItsReason(t *testing.T) {
	tests := []struct {
		name   string
		change func(b *mesh.Config)
		want   string
	}{
		{"cluster", func(b *mesh.Config) { b.Cluster = "other" }, `cluster "" is not "other"`},
		{"protocol", func(b *mesh.Config) { b.Protocol = "other" }, `protocol "" is not "other"`},
		{"id", func(b *mesh.Config) { b.Peers[0].ID = "x" }, `"a" of rank 0 is not configured as a peer of "b"`},
		{"unknown", func(b *mesh.Config) { b.Self.Rank = 7; b.Peers[0].ID, b.Peers[0].Rank = "x", 3 }, `"a" of rank 0 is not configured as a peer of "b"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var logged lockedBuffer
			p := newPair(t, func(cfg *[2]mesh.Config) {
				tt.change(&cfg[1])
				cfg[1].Log = slog.New(slog.NewTextHandler(&logged, nil))
			})
			locktest.Eventually(t, tt.want+", in the problem and the log", func() bool {
				problem := p.mesh[0].Status()[0].Problem
				return errors.Is(problem, mesh.ErrRefused) && strings.Contains(strings.ReplaceAll(problem.Error(), `\"`, `"`), tt.want) &&
					strings.Contains(strings.ReplaceAll(logged.String(), `\"`, `"`), tt.want)
			})
		})
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestConfigIsChecked(t *testing.T) {
	cfg := mesh.Config{
		Self: mesh.Peer{ID: "a"}, Peers: []mesh.Peer{{ID: "b", Rank: 64, Addr: "127.0.0.1:1"}}, Handler: newRecorder(t), Listener: peertest.Listen(t, "127.0.0.1:0"),
	}
	if _, err := mesh.New(cfg); !errors.Is(err, locks.ErrInvalid) || !strings.Contains(err.Error(), "rank 64") {
		t.Errorf("want ErrInvalid with the rank, got %v", err)
	}
	if _, err := cfg.Listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener was not closed: %v", err)
	}
}
