package toxic_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"locklab/chaos/toxic"
	"locklab/internal/must"
	"locklab/locks/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// use starts the toxics' timer for the test.
func use(t testing.TB) {
	t.Helper()
	release, err := toxic.Use()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
}

// stage is one toxic of a connection, run as toxiproxy's links run it.
type stage struct {
	in, out chan *stream.StreamChunk
	stub    *toxics.ToxicStub
	wrapper *toxics.ToxicWrapper
}

func newStage(t toxics.Toxic) *stage {
	s := &stage{
		in: make(chan *stream.StreamChunk), out: make(chan *stream.StreamChunk),
		wrapper: &toxics.ToxicWrapper{Toxic: t, Toxicity: 1},
	}
	s.stub = toxics.NewToxicStub(s.in, s.out)
	if stateful, ok := t.(toxics.StatefulToxic); ok {
		s.stub.State = stateful.NewState()
	}
	go s.stub.Run(s.wrapper)
	return s
}

func chunk(n int) *stream.StreamChunk {
	return &stream.StreamChunk{Data: []byte(fmt.Sprint(n)), Timestamp: clock.System().Now()}
}

// kinds are all toxics that deliver, and whether they do so before their removal.
func kinds() map[string]struct {
	toxic    toxics.Toxic
	delivers bool
} {
	return map[string]struct {
		toxic    toxics.Toxic
		delivers bool
	}{
		"locklab-latency":   {&toxic.Latency{Delay: 200_000, Jitter: 300_000, Seed: 1}, true},
		"locklab-bandwidth": {&toxic.Bandwidth{BytesPerS: 20_000}, true},
		"locklab-flaky":     {&toxic.Flaky{Loss: 0.3, Stall: 500_000, Seed: 1}, true},
		"locklab-hold":      {&toxic.Hold{}, false},
	}
}

func TestToxicsAreRegistered(t *testing.T) {
	toxic.Register()
	toxic.Register() // twice is fine
	for _, name := range []string{"locklab-latency", "locklab-bandwidth", "locklab-flaky", "locklab-hold", "locklab-drop"} {
		if toxics.New(&toxics.ToxicWrapper{Type: name}) == nil {
			t.Errorf("%s is not registered", name)
		}
	}
}

// TestForeign: what is let pass of toxiproxy's own toxics does no harm to the process, also as
// toxiproxy-cli sends it where nothing says how: with the defaults of its type.
func TestForeign(t *testing.T) {
	const huge = 1 << 62
	for kind, c := range map[string]struct {
		fits, unfit []string
	}{
		"noop":       {[]string{`{}`}, nil},
		"latency":    {[]string{`{}`, `{"latency":1,"jitter":2}`, `{"latency":-1,"jitter":-1}`}, []string{fmt.Sprintf(`{"latency":1,"jitter":%d}`, huge), fmt.Sprintf(`{"latency":%d}`, huge)}},
		"bandwidth":  {[]string{`{"rate":1}`, `{}`}, []string{`{"rate":-1}`, fmt.Sprintf(`{"rate":%d}`, huge)}},
		"slow_close": {[]string{`{}`, `{"delay":-1}`}, []string{fmt.Sprintf(`{"delay":%d}`, huge)}},
		"timeout":    {[]string{`{}`, `{"timeout":3600000}`, `{"timeout":-1}`}, []string{fmt.Sprintf(`{"timeout":%d}`, huge)}},
		"reset_peer": {[]string{`{}`, `{"timeout":-1}`, `{"timeout":3600000}`}, []string{fmt.Sprintf(`{"timeout":%d}`, huge)}},
		"slicer": {[]string{`{"average_size":1}`, `{"average_size":3,"size_variation":2}`, `{"average_size":2,"size_variation":-1,"delay":-1}`}, []string{
			`{}`, `{"average_size":-1}`, `{"average_size":2,"size_variation":2}`, `{"average_size":2,"size_variation":-2}`,
		}},
		"limit_data": {[]string{`{}`, `{"bytes":3}`, `{"bytes":-1}`}, []string{fmt.Sprintf(`{"bytes":%d}`, huge)}},
	} {
		read := func(attributes string) toxic.Effect {
			e, err := toxic.New("toxiproxy-" + kind)
			must.Do(t, err)
			must.Do(t, json.Unmarshal([]byte(attributes), e))
			return e
		}
		for _, attributes := range c.unfit {
			if err := read(attributes).Validate(); err == nil || !strings.Contains(err.Error(), "want ") {
				t.Errorf("%s %s: %v, want an error that says what is right", kind, attributes, err)
			}
		}
		for _, attributes := range c.fits {
			e := read(attributes)
			if err := e.Validate(); err != nil {
				t.Errorf("%s %s: %v", kind, attributes, err)
				continue
			}
			s := newStage(toxic.Runs(e, 1))
			go func() {
				s.in <- &stream.StreamChunk{Data: make([]byte, 500), Timestamp: clock.System().Now()}
				s.stub.InterruptToxic()
				s.stub.Close()
			}()
			for range s.out { // until it closes
			}
		}
	}
}

// TestNothingIsLostOrReordered interrupts toxics at random moments, as toxiproxy
// does when it rearranges a connection, and removes them in the end.
func TestNothingIsLostOrReordered(t *testing.T) {
	use(t)
	for name, kind := range kinds() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := newStage(kind.toxic)
				total := rapid.IntRange(0, 20).Draw(t, "chunks")
				interrupts := rapid.SliceOfN(rapid.IntRange(0, total), 0, 5).Draw(t, "interrupts")
				received := make(chan int, 1)
				go func() {
					n := 0
					for c := range s.out {
						if string(c.Data) == fmt.Sprint(n) {
							n++
						}
					}
					received <- n
				}()
				for n := range total {
					for _, at := range interrupts {
						if at == n {
							s.stub.InterruptToxic()
							go s.stub.Run(s.wrapper)
						}
					}
					s.in <- chunk(n)
				}
				if rapid.Bool().Draw(t, "ends") && kind.delivers {
					close(s.in) // the stream ends: all comes out, and then the end
				} else {
					s.stub.InterruptToxic()
					kind.toxic.(toxics.CleanupToxic).Cleanup(s.stub)
					close(s.out)
				}
				if got := <-received; got != total {
					t.Fatalf("%d of %d chunks came out in order", got, total)
				}
			})
		})
	}
}

func TestInterruptedWhileNobodyReads(t *testing.T) {
	use(t)
	for name, kind := range kinds() {
		s := newStage(kind.toxic)
		for n := range 3 {
			s.in <- chunk(n)
		}
		// The first chunk is due and waits for a reader that does not come.
		toxic.SleepUntil(clock.Mono()+int64(2*time.Millisecond), nil)
		for range 100 {
			if !s.stub.InterruptToxic() {
				t.Fatalf("%s: closed", name)
			}
			go s.stub.Run(s.wrapper)
		}
		s.stub.InterruptToxic()
		go func() {
			kind.toxic.(toxics.CleanupToxic).Cleanup(s.stub)
			close(s.out)
		}()
		n := 0
		for c := range s.out {
			if string(c.Data) != fmt.Sprint(n) {
				t.Errorf("%s: chunk %s came as number %d", name, c.Data, n)
			}
			n++
		}
		if n != 3 {
			t.Errorf("%s: %d of 3 chunks came out", name, n)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	use(t)
	for name, tox := range map[string]toxics.Toxic{
		"hold": &toxic.Hold{}, "latency": &toxic.Latency{Delay: time.Hour},
	} {
		s := newStage(tox)
		var taken atomic.Int64
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case s.in <- &stream.StreamChunk{Data: make([]byte, 64<<10), Timestamp: clock.System().Now()}:
					taken.Add(64 << 10)
				case <-stop:
					return
				}
			}
		}()
		var before int64 = -1
		for now := taken.Load(); now != before || now == 0; now = taken.Load() {
			before = now
			toxic.SleepUntil(clock.Mono()+int64(20*time.Millisecond), nil)
		}
		if before > 5<<20 {
			t.Errorf("%s took %d bytes", name, before)
		}
		close(stop)
		<-done
		s.stub.InterruptToxic()
		var delivered int64
		go func() {
			tox.(toxics.CleanupToxic).Cleanup(s.stub)
			close(s.out)
		}()
		for c := range s.out {
			delivered += int64(len(c.Data))
		}
		if delivered != taken.Load() {
			t.Errorf("%s delivered %d of %d bytes", name, delivered, taken.Load())
		}
	}
}

func TestHoldKeepsTheEnd(t *testing.T) {
	tox := &toxic.Hold{}
	s := newStage(tox)
	s.in <- chunk(0)
	close(s.in)
	if !s.stub.InterruptToxic() {
		t.Fatal("the end came through a hold")
	}
	go tox.Cleanup(s.stub)
	if c := <-s.out; string(c.Data) != "0" {
		t.Fatalf("got %s", c.Data)
	}
	if _, more := <-s.out; more {
		t.Fatal("want the end")
	}
}

func TestDropSwallows(t *testing.T) {
	s := newStage(&toxic.Drop{})
	s.in <- chunk(12)
	s.in <- chunk(345)
	close(s.in)
	if _, more := <-s.out; more {
		t.Fatal("something came through")
	}
}

// delays runs chunks through a toxic and returns how long each took at least.
func delays(t testing.TB, tox toxics.Toxic, n int) (all []time.Duration) {
	t.Helper()
	s := newStage(tox)
	for i := range n {
		c := chunk(i)
		sent := c.Timestamp
		s.in <- c
		got := <-s.out
		if early := got.Timestamp.Sub(clock.System().Now()); early > 100*time.Microsecond {
			t.Errorf("chunk %d left %v early", i, early)
		}
		all = append(all, got.Timestamp.Sub(sent)) // the due time: exact, whatever the machine does
	}
	close(s.in)
	<-s.out
	return all
}

func TestDelaysAreAsAsked(t *testing.T) {
	use(t)
	const base, jitter = 300 * time.Microsecond, 200 * time.Microsecond
	first := delays(t, &toxic.Latency{Delay: base, Jitter: jitter, Seed: 42}, 50)
	again := delays(t, &toxic.Latency{Delay: base, Jitter: jitter, Seed: 42}, 50)
	differs := false
	for n, d := range first {
		if d < base-2*time.Microsecond || d > base+jitter+2*time.Microsecond {
			t.Errorf("chunk %d was delayed by %v", n, d)
		}
		if off := d - again[n]; off > 4*time.Microsecond || off < -4*time.Microsecond { // two clock readings
			t.Errorf("chunk %d: %v, and %v with the same seed", n, d, again[n])
		}
		differs = differs || d-first[0] > 10*time.Microsecond || first[0]-d > 10*time.Microsecond
	}
	if !differs {
		t.Error("no jitter")
	}
}

func TestBandwidthIsAsAsked(t *testing.T) {
	use(t)
	s := newStage(&toxic.Bandwidth{BytesPerS: 1_000_000})
	start := clock.System().Now()
	go func() {
		for range 20 {
			s.in <- &stream.StreamChunk{Data: make([]byte, 1000), Timestamp: start}
		}
		close(s.in)
	}()
	var last time.Time
	for c := range s.out {
		last = c.Timestamp
	}
	if took := last.Sub(start); took < 19900*time.Microsecond || took > 20100*time.Microsecond {
		t.Fatalf("20 kB at 1 MB/s were due after %v, want 20 ms", took)
	}
}

// BenchmarkLatency shows how late chunks leave a delay of a millisecond.
func BenchmarkLatency(b *testing.B) {
	use(b)
	s := newStage(&toxic.Latency{Delay: time.Millisecond})
	var late time.Duration
	for b.Loop() {
		s.in <- chunk(0)
		late += clock.System().Now().Sub((<-s.out).Timestamp)
	}
	b.ReportMetric(float64(late)/float64(b.N), "ns-late/op")
	close(s.in)
	<-s.out
}
