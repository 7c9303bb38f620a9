package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	json "github.com/go-json-experiment/json/v1"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock/mesh"
	"locklab/workloads/result"
)

const (
	inFlight     = 1000
	messageBytes = 20 // about the size of a message of the lock
)

// multiphaseRows measure one peer, in this process, against n-1 others, each in a process of its own. All of them also
// serve the two floors: an echo over plain TCP, and the mesh with no locking logic on it.
func multiphaseRows() (all []row) {
	add := func(name string, reach float64, unit string, start starter) {
		all = append(all, row{name, reach, unit, start})
	}
	for n, reach := range inOrder([]int{2, 3, 6}, []float64{2, 4, 15}) {
		name := fmt.Sprintf("multiphase acquire p50 / round trip of one message, %d processes", n)
		add(name, reach, "us", func(b testing.TB) (subject, peer measurement) {
			g := startGroup(b, n, "multiphase")
			return g.latency(func(acquire, _ float64) float64 { return acquire }), g.latency(func(_, echo float64) float64 { return echo })
		})
	}
	inFlight := func(floor string, reach float64, bare func(*group) measurement) {
		name := "multiphase, 1,000 names in flight / bare " + floor + ", 3 processes"
		add(name, reach, "ops/s", func(b testing.TB) (subject, peer measurement) {
			g := startGroup(b, 3, "multiphase")
			return rate(inFlight, of(ownKey, g.lock).pair), bare(g)
		})
	}
	inFlight("request-grant rounds", 0.5, func(g *group) measurement { return g.bareRate })
	inFlight("rounds nobody waits for", 0, func(g *group) measurement { return g.bareEchoRate })
	for n, reach := range inOrder([]int{2, 3}, []float64{10, 0}) { // the headline has two masters; three show the cost of a further one
		name := fmt.Sprintf("multiphase acquire+release, %d processes / redlock, a name each, 64 workers", n)
		add(name, reach, "ops/s", func(b testing.TB) (subject, peer measurement) {
			return rate(64, of(ownKey, startGroup(b, n, "multiphase").lock).pair), rate(64, of(ownKey, startRedis(b).redlock("redlock")).pair)
		})
	}
	// One acquisition among the peers serves the waiters of a process in turn, or each makes its own.
	add("multiphase:cohort / multiphase, one resource, 64 workers of 2 processes", 3, "ops/s", func(b testing.TB) (subject, peer measurement) {
		return startGroup(b, 2, "multiphase:cohort").hotRate, startGroup(b, 2, "multiphase").hotRate
	})
	return all
}

// member is what a process of a group is told: its rank, and the addresses of all of them.
type member struct {
	Rank             int
	Lock, Bare, Echo []string
	Spec             string // of the lock
}

// serve runs the lock and the bare mesh of one process.
func (m member) serve(ctx context.Context, handler mesh.Handler) (multiphase.Locker, *mesh.Mesh, error) {
	among := func(addrs []string) (c mesh.Config, err error) {
		c = mesh.Config{Self: mesh.Peer{ID: fmt.Sprint(m.Rank), Rank: m.Rank}, Cluster: "bench"}
		for rank, addr := range addrs {
			if rank != m.Rank {
				c.Peers = append(c.Peers, mesh.Peer{ID: fmt.Sprint(rank), Rank: rank, Addr: addr})
			}
		}
		c.Listener, err = new(net.ListenConfig).Listen(ctx, "tcp", addrs[m.Rank])
		return c, err
	}
	lock, err1 := among(m.Lock)
	bare, err2 := among(m.Bare)
	spec, err3 := locks.ParseSpec(m.Spec)
	options, err4 := multiphase.ParseOptions(spec)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, nil, err
	}
	bare.Protocol, bare.Handler = "bare", handler
	l, err1 := multiphase.New(multiphase.Config{Options: options, Config: lock})
	floor, err2 := mesh.New(bare)
	return l, floor, errors.Join(err1, err2)
}

// group is n processes, this one included.
type group struct {
	lock   multiphase.Locker
	bare   *bareRounds
	mesh   *mesh.Mesh
	echoes []net.Conn      // one to each other process
	others []io.ReadWriter // their input and output
}

func startGroup(b testing.TB, n int, spec string) *group {
	b.Helper()
	addrs := freePorts(b, 3*n)
	g := &group{bare: &bareRounds{all: make(chan struct{}), peers: n - 1}}
	m := member{Spec: spec, Lock: addrs[:n], Bare: addrs[n : 2*n], Echo: addrs[2*n:]}
	for m.Rank = 1; m.Rank < n; m.Rank++ {
		stdin, stdout := startPeer(b, "multiphase", m)
		g.others = append(g.others, struct {
			io.Reader
			io.Writer
		}{stdout, stdin})
	}
	m.Rank = 0
	var err error
	g.lock, g.mesh, err = m.serve(b.Context(), g.bare)
	locktest.Open(b, g.lock, err)
	b.Cleanup(func() { _ = g.mesh.Close() })
	must.Do(b, g.lock.Ready(locktest.Within(b)))
	<-g.bare.all
	for _, addr := range m.Echo[1:] {
		conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", addr)
		must.Do(b, err)
		b.Cleanup(func() { _ = conn.Close() })
		g.echoes = append(g.echoes, conn)
	}
	return g
}

// serveEcho answers each byte with itself.
func serveEcho(ctx context.Context, addr string) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	go func() {
		for conn, err := ln.Accept(); err == nil; conn, err = ln.Accept() {
			go func() { _, _ = io.Copy(struct{ io.Writer }{conn}, conn) }() // without splice: a plain server
		}
	}()
	return ln, nil
}

// roundTrip is one message to an echo and back.
func roundTrip(conn net.Conn) (time.Duration, error) {
	begin, buf := clock.Mono(), make([]byte, messageBytes)
	_, err1 := conn.Write(buf)
	_, err2 := io.ReadFull(conn, buf)
	return since(begin), errors.Join(err1, err2)
}

// serveMultiphase is a process of a group. It takes the hot resource for as many
// nanoseconds as a line of its input says, and answers how often it did.
func serveMultiphase(ctx context.Context, config []byte) error {
	var m member
	if err := json.Unmarshal(config, &m); err != nil {
		return err
	}
	if _, err := serveEcho(ctx, m.Echo[m.Rank]); err != nil {
		return err
	}
	l, _, err := m.serve(ctx, answerAll{})
	for err == nil {
		var n int
		var d int64
		if _, end := fmt.Scanln(&d); end != nil { // the bench has ended
			break
		}
		n, err = takeHot(ctx, l, time.Duration(d))
		fmt.Println(n)
	}
	return err
}

// takeHot has workers of this process all take the same resource, over and over.
func takeHot(ctx context.Context, l locks.Locker, d time.Duration) (int, error) {
	n, _, err := loop(ctx, d, 32, of(oneKey, l).pair)
	return n, err
}

// hotRate is how often per second the workers of all processes of the group take one
// resource. All processes have one processor, as the lab's masters do.
func (g *group) hotRate(ctx context.Context, d time.Duration) (float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	begin := clock.Mono()
	for _, p := range g.others {
		if _, err := fmt.Fprintln(p, int64(d)); err != nil {
			return 0, err
		}
	}
	total, err := takeHot(ctx, g.lock, d)
	for _, p := range g.others {
		var n int
		_, failed := fmt.Fscanln(p, &n)
		total, err = total+n, errors.Join(err, failed)
	}
	return float64(total) / since(begin).Seconds(), err
}

// latency picks one of the medians, in microseconds, of Acquire and of a message's round
// trip over plain TCP. They take turns within one loop: whether a core sleeps deeply
// or not changes both several times over, and must not come between them. After each
// Release an echo with every peer, not timed, gives them time to take notice of it, for
// an uncontended acquisition does not overlap with the end of another. All processes
// have one processor, as the lab's masters do: with two, a goroutine that was just
// made ready is sometimes carried to the other core, which has to be woken first.
func (g *group) latency(pick func(acquire, echo float64) float64) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		var echoes []float64
		took, err := timed(func(ctx context.Context) (time.Duration, error) {
			var last time.Duration
			for i := range len(g.echoes) + 1 {
				var err error
				if last, err = roundTrip(g.echoes[(len(echoes)+i)%len(g.echoes)]); err != nil {
					return 0, err
				}
			}
			echoes = append(echoes, micros(last))
			return acquire(ctx, g.lock, "bench/uncontended")
		})(ctx, d)
		return pick(took, result.Median(echoes)), err
	}
}

// bareRate is a worker for each name with nothing but the mesh: it asks all peers and waits until
// they have answered.
func (g *group) bareRate(ctx context.Context, d time.Duration) (float64, error) {
	wake := make([]chan struct{}, inFlight)
	for w := range wake {
		wake[w] = make(chan struct{}, 1)
	}
	g.bare.begin(func(id uint32) { wake[id] <- struct{}{} })
	return rate(inFlight, func(ctx context.Context, w int) error {
		g.bare.mu.Lock()
		g.bare.ask(uint32(w)) //nolint:gosec // not negative
		g.bare.mu.Unlock()
		g.mesh.FlushTogether()
		select {
		case <-wake[w]:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})(ctx, d)
}

// bareEchoRate keeps as many requests in flight without any worker that waits: the
// handler asks again as soon as all have answered.
func (g *group) bareEchoRate(ctx context.Context, d time.Duration) (float64, error) {
	b, done := g.bare, 0
	b.begin(func(id uint32) {
		done++
		b.ask(id)
	})
	begin := clock.Mono()
	b.mu.Lock()
	for id := range uint32(inFlight) {
		b.ask(id)
	}
	b.mu.Unlock()
	g.mesh.Flush()
	_ = clock.Sleep(ctx, d) // ctx is looked at below
	b.mu.Lock()
	defer b.mu.Unlock()
	b.run++ // the rest is not counted, nor asked again
	return float64(done) / since(begin).Seconds(), ctx.Err()
}

// answerAll is the other side of the bare rounds: every request is granted.
type answerAll struct{}

func (answerAll) Connected(*mesh.Link)           {}
func (answerAll) Disconnected(*mesh.Link, error) {}

func (answerAll) Receive(link *mesh.Link, payload []byte) error {
	link.Send(payload)
	return nil
}

// bareRounds sends requests over nothing but the mesh.
type bareRounds struct {
	peers int
	all   chan struct{} // closed once all are connected

	mu      sync.Mutex
	links   []*mesh.Link
	payload [messageBytes]byte
	run     uint32          // tells answers to this measurement from those to an earlier one
	grants  []int           // of each request in flight
	granted func(id uint32) // all peers have answered
}

func (b *bareRounds) begin(granted func(id uint32)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.run++
	b.grants, b.granted = make([]int, inFlight), granted
}

func (b *bareRounds) Connected(link *mesh.Link) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.links = append(b.links, link); len(b.links) == b.peers {
		close(b.all)
	}
}

// Disconnected spoils the measurement, which then finds no grants.
func (b *bareRounds) Disconnected(*mesh.Link, error) {}

func (b *bareRounds) Receive(_ *mesh.Link, payload []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := binary.BigEndian.Uint32(payload)
	if binary.BigEndian.Uint32(payload[4:]) != b.run {
		return nil
	}
	if b.grants[id]++; b.grants[id] == b.peers {
		b.granted(id)
	}
	return nil
}

func (b *bareRounds) ask(id uint32) {
	b.grants[id] = 0
	binary.BigEndian.PutUint32(b.payload[:], id)
	binary.BigEndian.PutUint32(b.payload[4:], b.run)
	for _, l := range b.links {
		l.Send(b.payload[:])
	}
}
