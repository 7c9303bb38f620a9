package link_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/chaos/link"
	"locklab/internal/must"
	"locklab/internal/seed"
	"locklab/locks/clock"
	"locklab/locks/locktest"
)

func TestBytesAndEndsPassBothWays(t *testing.T) {
	h := newHost(t, "a")
	addr := open(t, h, link.Spec{Upstream: serve(t, echo), Up: link.Latency{Delay: time.Millisecond}})
	c := dial(t, addr)
	say(t, c, "hello")
	hear(t, c, "hello")
	say(t, c, "last")
	must.Do(t, c.CloseWrite())
	rest, err := io.ReadAll(c)
	if err != nil || string(rest) != "last" {
		t.Fatalf("after half-close: %q, %v", rest, err)
	}
}

func TestServerEndsFirst(t *testing.T) {
	h := newHost(t, "a")
	got := make(chan string, 1)
	addr := open(t, h, link.Spec{Upstream: serve(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "bye")
		_ = c.CloseWrite()
		all, _ := io.ReadAll(c)
		got <- string(all)
	})})
	c := dial(t, addr)
	if all, err := io.ReadAll(c); err != nil || string(all) != "bye" {
		t.Fatalf("%q, %v", all, err)
	}
	say(t, c, "still here")
	_ = c.CloseWrite()
	if s := <-got; s != "still here" {
		t.Fatalf("server got %q", s)
	}
}

func TestRefusedUpstreamResetsTheClient(t *testing.T) {
	h := newHost(t, "a")
	mustReset(t, open(t, h, link.Spec{Upstream: "127.0.0.1:1"}))
}

func TestPeerResetIsPassedOn(t *testing.T) {
	h := newHost(t, "a")
	c := dial(t, open(t, h, link.Spec{Upstream: serve(t, func(c *net.TCPConn) {
		_, _ = io.ReadFull(c, make([]byte, 1))
		_ = c.SetLinger(0)
		_ = c.Close()
	})}))
	say(t, c, "x")
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("got %v, want a reset", err)
	}
}

func TestWriterToADeadNodeIsReset(t *testing.T) {
	h := newHost(t, "a")
	c := dial(t, open(t, h, link.Spec{Upstream: serve(t, func(*net.TCPConn) {})})) // as a killed process: closed at once
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("got %v, want EOF", err)
	}
	locktest.Eventually(t, "a write fails", func() bool {
		_, err := c.Write([]byte("x"))
		return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	})
}

// TestDelaysAddUp of the link, of an impairment and of a toxic of toxiproxy's, for new connections.
func TestDelaysAddUp(t *testing.T) {
	h := newHost(t, "a")
	addr := open(t, h, link.Spec{Name: "x", Upstream: serve(t, echo), Down: link.Latency{Delay: 5 * time.Millisecond}})
	apply(t, h, link.Impairment{Direction: link.Down, Effect: &link.Latency{Delay: 5 * time.Millisecond}})
	theirs, err := link.NewEffect("latency")
	must.Do(t, err)
	must.Do(t, json.Unmarshal([]byte(`{"latency":20}`), theirs))
	apply(t, h, link.Impairment{ID: "theirs", Direction: link.Down, Effect: theirs, Link: "x"})
	c := dial(t, addr)
	for range 3 {
		start := clock.Mono()
		say(t, c, "a")
		hear(t, c, "a")
		if took := time.Duration(clock.Mono() - start); took < 29500*time.Microsecond {
			t.Errorf("a round trip with 30 ms of delay took %v", took)
		}
	}
}

// pattern is n bytes of an endless text in which every position can be told.
func pattern(at, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		p := at + i
		b[i] = byte(p ^ p>>8 ^ p>>16)
	}
	return b
}

// checkPattern reads to the end: bytes read, first wrong position or -1.
func checkPattern(r io.Reader) [2]int {
	at, buf := 0, make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if want := pattern(at, n); !bytes.Equal(want, buf[:n]) {
			for i := range want {
				if want[i] != buf[i] {
					return [2]int{at + n, at + i}
				}
			}
		}
		at += n
		if err != nil {
			return [2]int{at, -1}
		}
	}
}

// windowed takes one token per 700 bytes read.
type windowed struct {
	r      io.Reader
	tokens chan struct{}
	left   int
}

func (w *windowed) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	for w.left += n; w.left >= 700; w.left -= 700 {
		<-w.tokens
	}
	return n, err
}

func TestDropSwallowsAndEndsStreamsWithHoles(t *testing.T) {
	h := newHost(t, "a")
	addr := open(t, h, link.Spec{Upstream: serve(t, echo)})
	hit, idle := dial(t, addr), dial(t, addr)
	for _, c := range []*net.TCPConn{hit, idle} {
		say(t, c, "a")
		hear(t, c, "a")
	}
	apply(t, h, link.Impairment{Effect: new(link.Drop)})
	say(t, hit, "lost")
	silent(t, hit)
	heal(t, h, "drop")
	if _, err := hit.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("a stream with a hole: got %v, want a reset", err)
	}
	say(t, idle, "whole")
	hear(t, idle, "whole")
}

func TestResetIsFeltAtOnce(t *testing.T) {
	h := newHost(t, "a")
	atServer := make(chan error, 1)
	addr := open(t, h, link.Spec{Upstream: serve(t, func(c *net.TCPConn) {
		_, err := io.Copy(c, c)
		select {
		case atServer <- err:
		default:
		}
	}), Up: link.Latency{Delay: time.Millisecond}})
	c := dial(t, addr)
	say(t, c, "a")
	hear(t, c, "a")
	apply(t, h, link.Impairment{Effect: new(link.Reset)})
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("live connection: got %v, want a reset", err)
	}
	if err := <-atServer; !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("server: got %v, want a reset", err)
	}
	mustReset(t, addr)
	heal(t, h, "reset")
	again := dial(t, addr)
	say(t, again, "b")
	hear(t, again, "b")
}

func TestConnectionBegunInAPartition(t *testing.T) {
	h := newHost(t, "a")
	var accepted atomic.Int32
	addr := open(t, h, link.Spec{Upstream: serve(t, func(c *net.TCPConn) { accepted.Add(1); echo(c) })})
	for _, effect := range []link.Effect{new(link.Hold), new(link.Drop)} {
		accepted.Store(0)
		apply(t, h, link.Impairment{ID: "cut", Effect: effect})
		waits, gaveUp := dial(t, addr), dial(t, addr)
		say(t, waits, "patient")
		say(t, gaveUp, "never mind")
		_ = gaveUp.Close()
		silent(t, waits)
		if n := accepted.Load(); n != 0 {
			t.Fatalf("%s: the node heard of %d connections", link.KindOf(effect), n)
		}
		heal(t, h, "cut")
		hear(t, waits, "patient")
		if n := accepted.Load(); n != 1 {
			t.Fatalf("%s: the node heard of %d connections, want 1", link.KindOf(effect), n)
		}
	}
}

func TestEndIsHeldToo(t *testing.T) {
	h := newHost(t, "a")
	addr := open(t, h, link.Spec{Upstream: serve(t, func(c *net.TCPConn) {
		for range 2 {
			_, _ = io.ReadFull(c, make([]byte, 1))
			_, _ = c.Write([]byte("x"))
		}
		_, _ = io.ReadFull(c, make([]byte, 1))
	})})
	for _, effect := range []link.Effect{new(link.Hold), new(link.Drop)} {
		c := dial(t, addr)
		say(t, c, "xx")
		hear(t, c, "xx")
		apply(t, h, link.Impairment{ID: "cut", Effect: effect, Direction: link.Down})
		say(t, c, "x") // and the server ends
		silent(t, c)
		heal(t, h, "cut")
		if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Fatalf("%s: got %v, want EOF", link.KindOf(effect), err)
		}
	}
}

func TestDeadConnectionsInAHoldEnd(t *testing.T) {
	h := newHost(t, "a")
	addr := open(t, h, link.Spec{Upstream: serve(t, echo)})
	c := dial(t, addr)
	say(t, c, "a")
	hear(t, c, "a")
	apply(t, h, link.Impairment{ID: "h1", Effect: new(link.Hold)})
	say(t, c, "held")
	apply(t, h, link.Impairment{ID: "r", Effect: new(link.Reset)})
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("got %v, want a reset", err)
	}
	// Close must not wait for the heal; goleak sees whether it did its work.
}

// TestWhatIsUnderWayIsHitToo has an impairment come while a byte waits for the base delay.
func TestWhatIsUnderWayIsHitToo(t *testing.T) {
	const base, more = 20 * time.Millisecond, 500 * time.Millisecond
	h := newHost(t, "a")
	c := dial(t, open(t, h, link.Spec{Upstream: serve(t, echo), Up: link.Latency{Delay: base}}))
	for range 10 { // a slow machine may not catch it at once
		start := clock.Mono()
		say(t, c, "a")
		apply(t, h, link.Impairment{ID: "l", Effect: &link.Latency{Delay: more}, Direction: link.Up})
		hear(t, c, "a")
		heal(t, h, "l")
		if time.Duration(clock.Mono()-start) >= base+more {
			return
		}
	}
	t.Error("a byte that waits for the base delay passed by an impairment that came meanwhile")
}

func TestImpairmentsComeAndGoUnderTraffic(t *testing.T) {
	h := newHost(t, "a")
	addr := open(t, h, link.Spec{
		Upstream: serve(t, echo),
		Up:       link.Latency{Delay: 100 * time.Microsecond, Jitter: 100 * time.Microsecond},
		Down:     link.Latency{Delay: 100 * time.Microsecond},
	})
	var wg sync.WaitGroup
	stop := make(chan struct{})
	var moved atomic.Int64
	for range 4 {
		c := dial(t, addr)
		_ = c.SetDeadline(time.Time{})
		total := make(chan int, 1)
		window := make(chan struct{}, 64) // a flood would only make the changes slow
		wg.Go(func() {
			at := 0
			for ; ; at += 700 {
				select {
				case <-stop:
					_ = c.CloseWrite()
					total <- at
					return
				case window <- struct{}{}:
				}
				if _, err := c.Write(pattern(at, 700)); err != nil {
					t.Errorf("write: %v", err)
					total <- at
					return
				}
			}
		})
		wg.Go(func() {
			got := checkPattern(&windowed{c, window, 0})
			if want := <-total; got != [2]int{want, -1} {
				t.Errorf("got %d bytes, first wrong at %d; want %d, -1", got[0], got[1], want)
			}
			moved.Add(int64(got[0]))
		})
	}
	kinds := []link.Impairment{
		{Effect: new(link.Hold)},
		{Effect: new(link.Hold), Direction: link.Up},
		{Direction: link.Down, Effect: &link.Latency{Delay: 300 * time.Microsecond}},
		{Effect: &link.Latency{Jitter: time.Millisecond}},
		{Effect: &link.Flaky{Loss: 0.1, Stall: time.Millisecond}},
		{Effect: &link.Bandwidth{BytesPerS: 1 << 20}, Direction: link.Up},
	}
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	draw := seed.Seed(7).Rand()
	var on []string
	for n := range rounds {
		i := kinds[draw.IntN(len(kinds))]
		i.ID = fmt.Sprint(n)
		apply(t, h, i)
		on = append(on, i.ID)
		for len(on) > draw.IntN(4) { // in any order
			k := draw.IntN(len(on))
			heal(t, h, on[k])
			on = append(on[:k], on[k+1:]...)
		}
	}
	for _, id := range on {
		heal(t, h, id)
	}
	close(stop)
	wg.Wait()
	t.Logf("%d changes while %d MiB passed", 2*rounds, moved.Load()>>20)
}

func TestImpairmentsComeAndGoAgainstAWall(t *testing.T) {
	h := newHost(t, "a")
	release := make(chan struct{})
	sum := make(chan [2]int, 1)
	addr := open(t, h, link.Spec{Upstream: serve(t, func(c *net.TCPConn) {
		<-release // a stopped process: the kernel takes what it can, and then nothing
		sum <- checkPattern(c)
	}), Up: link.Latency{Delay: 100 * time.Microsecond}})
	c := dial(t, addr)
	_ = c.SetDeadline(time.Time{})
	const total = 24 << 20
	var sent atomic.Int64
	go func() {
		for at := 0; at < total; at += 1 << 10 {
			if _, err := c.Write(pattern(at, 1<<10)); err != nil {
				return
			}
			sent.Add(1 << 10)
		}
		_ = c.CloseWrite()
	}()
	var before int64 = -1
	locktest.Eventually(t, "everything is full", func() bool {
		now := sent.Load()
		full := now == before && now > 0
		before = now
		return full
	})
	for n := range 50 {
		id := fmt.Sprint(n)
		apply(t, h, link.Impairment{ID: "l" + id, Effect: &link.Latency{Delay: time.Millisecond}})
		apply(t, h, link.Impairment{ID: "h" + id, Effect: new(link.Hold)})
		heal(t, h, "l"+id)
		heal(t, h, "h"+id)
	}
	close(release)
	if got := <-sum; got != [2]int{total, -1} {
		t.Fatalf("got %d bytes, first wrong at %d; want %d, -1", got[0], got[1], total)
	}
}
