package mesh_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/peerlock/mesh"
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

func (r *recorder) Receive(l *mesh.Link, batch *mesh.Batch) error {
	r.mu.Lock()
	if r.links[l.Rank()] != l {
		r.tb.Errorf("a payload of rank %d comes over a link that is not connected", l.Rank())
	}
	r.mu.Unlock()
	for payload, ok := batch.Next(); ok; payload, ok = batch.Next() {
		if string(payload) == "bad" {
			return errors.New("bad payload")
		}
		if r.echo {
			l.Send(payload)
			continue
		}
		r.events <- event{kind: string(payload), rank: l.Rank(), link: l}
	}
	return nil
}

// want waits for an event of the kind; others before it are an error, except for
// those in skip.
func (r *recorder) want(kind string, skip ...string) event {
	r.tb.Helper()
	timer := clock.System().NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case e := <-r.events:
			if e.kind == kind {
				return e
			}
			skipped := false
			for _, s := range skip {
				skipped = skipped || e.kind == s
			}
			if !skipped {
				r.tb.Fatalf("want %q, got %q (rank %d, %v)", kind, e.kind, e.rank, e.cause)
			}
		case <-timer.C():
			r.tb.Fatalf("no %q within %v", kind, patience)
		}
	}
}

func listen(tb testing.TB) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return l
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
	l0, l1 := listen(tb), listen(tb)
	p.link = locktest.NewLink(tb, l1.Addr().String())
	p.link.Record()
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

func TestPayloadsArriveInOrder(t *testing.T) {
	p := newPair(t, nil)
	up := p.events[0].want("up")
	p.events[1].want("up")
	const n = 20_000
	for i := range n {
		up.link.Send(binary.BigEndian.AppendUint32(nil, uint32(i)))
		if i%7 == 0 {
			p.mesh[0].Flush()
		}
	}
	p.mesh[0].Flush()
	for i := range n {
		p.events[1].want(string(binary.BigEndian.AppendUint32(nil, uint32(i))))
	}
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
				p.mesh[0].FlushTogether(nil)
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
	p := newPair(t, func(cfg *[2]mesh.Config) {
		cfg[0].Timing.Handshake = 50 * time.Millisecond
	})
	p.events[0].want("up", "down")
	p.link.Hold(true) // dials still succeed, but nobody says hello
	p.events[0].want("down")
	p.link.Hold(false)
	p.events[0].want("up")
}

func TestRestartedPeerIsAnotherLink(t *testing.T) {
	p := newPair(t, nil)
	p.events[0].want("up")
	p.events[1].want("up")
	if err := p.mesh[1].Close(); err != nil {
		t.Fatal(err)
	}
	if e := p.events[1].want("down"); !errors.Is(e.cause, mesh.ErrClosed) {
		t.Errorf("want ErrClosed, got %v", e.cause)
	}
	p.events[0].want("down")
	l, err := net.Listen("tcp", p.cfg[1].Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p.cfg[1].Listener = l
	start(t, p.cfg[1])
	p.events[0].want("up")
	p.events[1].want("up")
}

// byHand is a peer that speaks the protocol by hand, and a mesh that it is connected to.
func byHand(t *testing.T, change func(*mesh.Config)) (net.Conn, *mesh.Link, *recorder, *mesh.Mesh) {
	t.Helper()
	l, events := listen(t), newRecorder(t)
	cfg := mesh.Config{Self: mesh.Peer{ID: "b", Rank: 1}, Peers: []mesh.Peer{{ID: "a", Rank: 0}}, Listener: l, Handler: events}
	if change != nil {
		change(&cfg)
	}
	m := start(t, cfg)
	conn := helloFrom(t, l.Addr().String(), "a", 0)
	t.Cleanup(func() { _ = conn.Close() })
	return conn, events.want("up").link, events, m
}

// reluctant is a peer that says it lives and reads nothing.
func reluctant(t *testing.T, timing mesh.Timing) (conn net.Conn, link *mesh.Link, m *mesh.Mesh, events *recorder, logged *lockedBuffer) {
	t.Helper()
	logged = &lockedBuffer{}
	conn, link, events, m = byHand(t, func(c *mesh.Config) {
		c.Limits, c.Timing = mesh.Limits{Frame: 1 << 10, Queue: 1 << 20}, timing
		c.Log = slog.New(slog.NewTextHandler(logged, nil))
	})
	var beats sync.WaitGroup
	beats.Go(func() {
		for {
			if _, err := conn.Write([]byte{0}); err != nil {
				return
			}
			<-clock.System().NewTimer(10 * time.Millisecond).C()
		}
	})
	t.Cleanup(func() {
		_ = conn.Close()
		beats.Wait()
	})
	return conn, link, m, events, logged
}

// fill sends until the queue is full.
func fill(m *mesh.Mesh, link *mesh.Link) (sent int) {
	for ; m.Full() == nil; sent++ {
		link.Send(make([]byte, 1<<10))
		m.Flush()
	}
	return sent
}

func TestPeerThatDoesNotReadIsDropped(t *testing.T) {
	_, link, m, events, logged := reluctant(t, mesh.Timing{SilenceMin: 400 * time.Millisecond, SilenceMax: 500 * time.Millisecond})
	fill(m, link)
	full := m.Full()
	if e := events.want("down"); !errors.Is(e.cause, mesh.ErrSlow) {
		t.Fatalf("want ErrSlow, got %+v", e)
	}
	logged.want(t, "does not read") // written right after the event
	if full != nil {
		<-full // who waited for room goes on
	}
}

// TestFullQueueKeepsTheLink fills the queue to a peer that reads late. It is not
// disconnected, what was queued arrives, and whoever waits for room hears of it.
func TestFullQueueKeepsTheLink(t *testing.T) {
	conn, link, m, events, _ := reluctant(t, mesh.Timing{SilenceMax: patience})
	sent := fill(m, link)
	full := m.Full()
	link.Send([]byte("more")) // is taken all the same
	var all sync.WaitGroup
	all.Go(func() {
		frames := bufio.NewReader(conn)
		for got := 0; got < sent+1; {
			size, err := binary.ReadUvarint(frames)
			if err == nil {
				_, err = frames.Discard(int(size))
			}
			if err != nil {
				t.Errorf("after %d of %d: %v", got, sent, err)
				return
			}
			if size > 0 { // otherwise a heartbeat
				got++
			}
		}
	})
	<-full
	all.Wait()
	if m.Full() != nil {
		t.Error("the queue is full though all was read")
	}
	select {
	case e := <-events.events:
		t.Errorf("got %q, %v", e.kind, e.cause)
	default:
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
			conn, _, events, _ := byHand(t, nil)
			if _, err := conn.Write(append(bytes, make([]byte, 16)...)); err != nil { // wakes the reader
				t.Fatal(err)
			}
			if name == "ends within a frame" {
				_ = conn.Close()
			}
			events.want("down")
		})
	}
}

// helloFrom connects as a peer would that speaks the protocol by hand.
func helloFrom(tb testing.TB, addr, id string, rank byte) net.Conn {
	tb.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	body := []byte{'H', 3, 0, 0, byte(len(id))}
	body = append(append(body, id...), rank, 9, 1)
	if _, err := conn.Write(append([]byte{byte(len(body))}, body...)); err != nil {
		tb.Fatal(err)
	}
	answer := make([]byte, 1)
	if _, err := conn.Read(answer); err != nil {
		tb.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, answer[0])); err != nil {
		tb.Fatal(err)
	}
	if _, err := conn.Write([]byte{0}); err != nil {
		tb.Fatal(err)
	}
	return conn
}

func TestMismatchIsRefusedWithItsReason(t *testing.T) {
	tests := []struct {
		name   string
		change func(b *mesh.Config)
		want   string
	}{
		{"cluster", func(b *mesh.Config) { b.Cluster = "other" }, `cluster "" is not "other"`},
		{"protocol", func(b *mesh.Config) { b.Protocol = "other" }, `protocol "" is not "other"`},
		{"id", func(b *mesh.Config) { b.Peers[0].ID = "x" }, `id "a" of rank 0 is not "x"`},
		{"rank", func(b *mesh.Config) { b.Self.Rank = 2; b.Peers[0].Rank = 1 }, `rank 0 of "a" is not 1`},
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

// want waits until the text has been written.
func (l *lockedBuffer) want(tb testing.TB, text string) {
	tb.Helper()
	locktest.Eventually(tb, text+" is written", func() bool { return strings.Contains(l.String(), text) })
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestConfigIsChecked(t *testing.T) {
	good := func() mesh.Config {
		return mesh.Config{
			Self: mesh.Peer{ID: "a"}, Peers: []mesh.Peer{{ID: "b", Rank: 1, Addr: "127.0.0.1:1"}},
			Handler: newRecorder(t), Listener: listen(t),
		}
	}
	tests := []struct {
		want   string
		change func(c *mesh.Config)
	}{
		{"Handler", func(c *mesh.Config) { c.Handler = nil }},
		{"Addr", func(c *mesh.Config) { c.Peers[0].Addr = "" }},
		{"rank 0 is taken", func(c *mesh.Config) { c.Peers[0].Rank = 0 }},
		{"listed twice", func(c *mesh.Config) { c.Peers[0].ID = "a" }},
		{"rank 64", func(c *mesh.Config) { c.Peers[0].Rank = 64 }},
		{"ID", func(c *mesh.Config) { c.Self.ID = "" }},
		{"Timing", func(c *mesh.Config) { c.Timing.Heartbeat, c.Timing.SilenceMin = time.Second, time.Second }},
		{"Limits", func(c *mesh.Config) { c.Limits.Queue = 1 }},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			cfg := good()
			tt.change(&cfg)
			m, err := mesh.New(cfg)
			if err == nil {
				_ = m.Close()
			}
			if !errors.Is(err, locks.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want ErrInvalid with %q, got %v", tt.want, err)
			}
			if _, err := cfg.Listener.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("the listener was not closed: %v", err)
			}
		})
	}
}
