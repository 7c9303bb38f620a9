package link

import (
	"cmp"
	"context"
	"encoding/gob"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"locklab/internal/signals"
	"locklab/locks/clock"
)

const (
	// Intervals between probes of one peer: while no report is asked for; for watchFor after one was; and after a
	// change, while reports are asked for.
	idleInterval    = 30 * time.Second
	watchedInterval = 100 * time.Millisecond
	fastInterval    = 5 * time.Millisecond
	watchFor        = time.Second
	// fastShare is the least of fastInterval for each peer that a change hits: with more than a thousand probes a
	// second, a host would load the machine during the proof.
	fastShare = time.Millisecond
	// redialInterval is longer than fastInterval: connections cost more than frames.
	redialInterval = 20 * time.Millisecond
	// keptRTTs is how many round trips a report has of each peer.
	keptRTTs = 16
)

// ProbeTime is how long a probe takes at this rate. Probes grow under a bandwidth limit, so that it can be seen.
func ProbeTime(bytesPerS int64) time.Duration {
	return time.Duration((frameBytes + int64(probePadding(bytesPerS))) * int64(time.Second) / max(bytesPerS, 1))
}

// probePadding makes a probe take two milliseconds, so that the link has room for other traffic.
func probePadding(bytesPerS int64) uint32 {
	return uint32(min(max(bytesPerS/500-frameBytes, 0), maxPadding)) //nolint:gosec // at most maxPadding
}

// Report is what the probes of one host saw. Ages are counted back from the
// moment at which the report was made.
type Report struct {
	Host  string       `json:"host"`
	Echo  string       `json:"echo"` // where other hosts' probes are answered
	Peers []PeerReport `json:"peers"`
	Heard []Heard      `json:"heard"`
}

// PeerReport is what a host knows of its probes to a peer.
type PeerReport struct {
	To          string        `json:"to"`
	Sent        uint64        `json:"sent"` // sequence number of the newest, also if it could not leave
	SentAge     time.Duration `json:"sent_age_ns,format:nano"`
	Answered    uint64        `json:"answered"` // sequence number of the newest
	AnsweredAge time.Duration `json:"answered_age_ns,format:nano"`
	RTTs        []RTT         `json:"rtts"` // the last few, oldest first
}

// RTT is one answered probe. There spans two hosts' clocks, so only differences between Theres mean something.
type RTT struct {
	SentAge time.Duration `json:"sent_age_ns,format:nano"`
	Took    time.Duration `json:"took_ns,format:nano"`
	There   time.Duration `json:"there_ns,format:nano"` // the part of it to the peer
}

// Heard is the newest probe that arrived from an origin.
type Heard struct {
	From     string        `json:"from"`
	Sequence uint64        `json:"sequence"`
	Age      time.Duration `json:"age_ns,format:nano"`
}

// rush makes the probers of the hosts that a change hits send often for a while, and large probes where bandwidth
// is limited. The caller holds mu.
func (h *Host) rush(change Impairment) {
	var hit []*prober
	for _, p := range h.probes {
		if change.hits(p.to) {
			hit = append(hit, p)
		}
	}
	for _, p := range hit {
		p.watch(max(fastInterval, time.Duration(len(hit))*fastShare))
		p.pad(h.padding(p.to))
	}
}

// padding is that of probes to a host. The caller holds mu.
func (h *Host) padding(host string) (bytes uint32) {
	for _, i := range h.on(Spec{ToHost: host}) {
		if limit, ok := i.Effect.(*Bandwidth); ok {
			bytes = probePadding(limit.BytesPerS)
		}
	}
	return bytes
}

// Probes reports on all peers, and has them probed often for a while.
func (h *Host) Probes() Report {
	h.mu.Lock()
	probes := slices.Collect(maps.Values(h.probes))
	h.mu.Unlock()
	report := Report{Host: h.config.Host, Echo: h.EchoAddr()}
	for _, p := range probes {
		p.watch(0)
		report.Peers = append(report.Peers, p.report())
	}
	report.Heard = h.echo.report()
	slices.SortFunc(report.Peers, func(a, b PeerReport) int { return cmp.Compare(a.To, b.To) })
	slices.SortFunc(report.Heard, func(a, b Heard) int { return cmp.Compare(a.From, b.From) })
	return report
}

// prober sends probes to one peer until it is closed.
type prober struct {
	origin, to, addr string

	ctx   context.Context //nolint:containedctx // ends with the prober, for dialing
	stop  context.CancelFunc
	nudge chan struct{} // ends the pause before the next probe
	wg    sync.WaitGroup

	mu         sync.Mutex
	watched    int64         // until when reports are asked for, on clock.Mono
	fast       time.Duration // the interval while they are; 0 is the usual one
	padding    uint32
	sent       uint64
	sentAt     int64
	answered   uint64
	answeredAt int64
	rtts       []RTT // each SentAge is still a time on clock.Mono
}

func newProber(origin, to, addr string) *prober {
	p := &prober{origin: origin, to: to, addr: addr, nudge: make(chan struct{}, 1)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.watch(0) // a report is likely to be asked for soon
	p.wg.Go(p.run)
	return p
}

func (p *prober) close() {
	p.stop()
	p.wg.Wait()
}

// watch keeps probing frequent for watchFor. After a change, fast is the interval; 0 keeps the one in use.
func (p *prober) watch(fast time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := clock.Mono()
	idle := now >= p.watched
	if idle || fast != 0 {
		p.fast = fast
		signals.Wake(p.nudge)
	}
	p.watched = now + int64(watchFor)
}

func (p *prober) pad(bytes uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.padding = bytes
}

// run sends one probe per interval, over a connection that it renews when it fails.
func (p *prober) run() {
	for p.ctx.Err() == nil {
		dialer := net.Dialer{Timeout: time.Second}
		conn, err := dialer.DialContext(p.ctx, "tcp", p.addr)
		if err != nil { // the link does not take it
			_, wait := p.next()
			p.pause(max(wait, redialInterval), nil)
			continue
		}
		probes, broken := gob.NewEncoder(conn), make(chan struct{})
		p.wg.Go(func() {
			defer close(broken)
			p.read(conn)
		})
		for on := true; on; {
			probe, wait := p.next()
			_ = conn.SetWriteDeadline(clock.System().Now().Add(time.Second)) // fails where the write does
			on = probes.Encode(probe) == nil && p.pause(wait, broken)
		}
		_ = conn.Close()
		<-broken
		p.pause(redialInterval, nil)
	}
}

// pause is false if the connection broke, or the prober is closed.
func (p *prober) pause(d time.Duration, broken <-chan struct{}) bool {
	over, stop := clock.After(clock.System(), d)
	defer stop()
	select {
	case <-over:
	case <-p.nudge:
	case <-broken:
		return false
	case <-p.ctx.Done():
		return false
	}
	return true
}

// next returns the next probe, and how long to wait after it. A probe that cannot leave counts as sent.
func (p *prober) next() (frame, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent++
	p.sentAt = clock.Mono()
	interval := idleInterval
	if p.sentAt < p.watched {
		interval = cmp.Or(p.fast, watchedInterval)
	}
	return frame{From: p.origin, Sequence: p.sent, Sent: p.sentAt, Padding: make([]byte, p.padding)}, interval
}

func (p *prober) read(conn net.Conn) {
	answers := gob.NewDecoder(conn)
	for {
		var f frame
		if answers.Decode(&f) != nil {
			return
		}
		p.answer(f)
	}
}

func (p *prober) answer(f frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered = max(p.answered, f.Sequence)
	p.answeredAt = clock.Mono()
	if len(p.rtts) == keptRTTs {
		p.rtts = slices.Delete(p.rtts, 0, 1)
	}
	sent := time.Duration(f.Sent)
	p.rtts = append(p.rtts, RTT{sent, time.Duration(p.answeredAt) - sent, time.Duration(f.Echoed) - sent})
}

func (p *prober) report() PeerReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := clock.Mono()
	r := PeerReport{
		To: p.to, Sent: p.sent, SentAge: time.Duration(now - p.sentAt),
		Answered: p.answered, AnsweredAge: time.Duration(now - p.answeredAt), RTTs: slices.Clone(p.rtts),
	}
	for i := range r.RTTs {
		r.RTTs[i].SentAge = time.Duration(now) - r.RTTs[i].SentAge
	}
	return r
}

const (
	frameBytes = 48 // of a frame without padding, about
	maxPadding = 16 << 10
)

// frame is one probe, or its answer: the same with the time at which the echo service read it. Sent by package
// gob.
type frame struct {
	From     string
	Sequence uint64
	Sent     int64 // by the origin's clock
	Echoed   int64 // by the echo service's
	Padding  []byte
}

// echo answers probes and remembers whom it heard.
type echo struct {
	ln   *net.TCPListener
	ctx  context.Context //nolint:containedctx // ends with the service, and its connections with it
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu    sync.Mutex
	heard map[string]Heard // by origin; each Age is still a time on clock.Mono
}

func newEcho(config Config) (*echo, error) {
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", config.EchoListen)
	if err != nil {
		return nil, fmt.Errorf("start echo service of host %q: %w", config.Host, err)
	}
	e := &echo{ln: ln.(*net.TCPListener), heard: map[string]Heard{}}
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.wg.Go(func() { accept(e.ln, config.Log, e.take) })
	return e, nil
}

// take answers on a new connection until it ends.
func (e *echo) take(c *net.TCPConn) {
	e.wg.Go(func() {
		defer context.AfterFunc(e.ctx, func() { _ = c.Close() })()
		e.serve(c)
		_ = c.Close()
	})
}

// serve answers probes until the connection fails.
func (e *echo) serve(c *net.TCPConn) {
	probes, answers := gob.NewDecoder(c), gob.NewEncoder(c)
	for {
		var f frame
		if probes.Decode(&f) != nil {
			return
		}
		f.Echoed = clock.Mono()
		e.mu.Lock()
		e.heard[f.From] = Heard{f.From, f.Sequence, time.Duration(f.Echoed)}
		e.mu.Unlock()
		if answers.Encode(f) != nil {
			return
		}
	}
}

func (e *echo) report() (all []Heard) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.heard {
		h.Age = time.Duration(clock.Mono()) - h.Age
		all = append(all, h)
	}
	return all
}

func (e *echo) clear() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.heard)
}

func (e *echo) close() {
	_ = e.ln.Close() // ends accept
	e.stop()
	e.wg.Wait()
}
