package link

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"locklab/internal/must"
	"locklab/locks/clock"
)

func testTimer(t testing.TB) *timer {
	t.Helper()
	timer, err := newTimer()
	must.Do(t, err)
	t.Cleanup(timer.close)
	return timer
}

// subject is one toxic of a connection, run as toxiproxy's links run it.
type subject struct {
	in, out chan *stream.StreamChunk
	stub    *toxics.ToxicStub
	toxic   toxics.Toxic
}

func newSubject(t toxics.Toxic, timer *timer) *subject {
	s := &subject{in: make(chan *stream.StreamChunk), out: make(chan *stream.StreamChunk), toxic: t}
	s.stub = toxics.NewToxicStub(s.in, s.out)
	s.stub.State = stateOf(t, 42, timer)
	s.run()
	return s
}

func (s *subject) run() { go s.stub.Run(&toxics.ToxicWrapper{Toxic: s.toxic, Toxicity: 1}) }

func chunk(text string) *stream.StreamChunk {
	return &stream.StreamChunk{Data: []byte(text), Timestamp: clock.System().Now()}
}

func TestToxicsAreRegistered(t *testing.T) {
	register()
	register() // twice is fine
	for _, kind := range []string{"latency", "bandwidth", "flaky", "hold", "drop", "reset"} {
		if toxics.New(&toxics.ToxicWrapper{Type: "locklab-" + kind}) == nil {
			t.Errorf("%s is not registered", kind)
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
		read := func(attributes string) Effect {
			e, err := newEffect(kind)
			must.Do(t, err)
			must.Do(t, json.Unmarshal([]byte(attributes), e))
			return e
		}
		for _, attributes := range c.unfit {
			if err := checkEffect(read(attributes)); err == nil || !strings.Contains(err.Error(), "want ") {
				t.Errorf("%s %s: %v, want an error that says what is right", kind, attributes, err)
			}
		}
		for _, attributes := range c.fits {
			e := read(attributes)
			if err := checkEffect(e); err != nil {
				t.Errorf("%s %s: %v", kind, attributes, err)
				continue
			}
			s := newSubject(runs(e), nil)
			go func() {
				s.in <- chunk(strings.Repeat("x", 500))
				s.stub.InterruptToxic()
				s.stub.Close()
			}()
			for range s.out { // until it closes
			}
		}
	}
}

// TestNothingIsLostOrReordered interrupts toxics at random moments, as is done when a
// connection is rearranged, and removes them in the end.
func TestNothingIsLostOrReordered(t *testing.T) {
	timer := testTimer(t)
	for _, c := range []struct {
		toxic    Effect
		delivers bool // before its removal
	}{
		{&Latency{Delay: 200_000, Jitter: 300_000}, true},
		{&Bandwidth{BytesPerS: 20_000}, true},
		{&Flaky{Loss: 0.3, Stall: 500_000}, true},
		{&Hold{}, false},
	} {
		t.Run(kindOf(c.toxic), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := newSubject(c.toxic, timer)
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
							s.run()
						}
					}
					s.in <- chunk(fmt.Sprint(n))
				}
				close(s.in) // the stream ends: all comes out, and then the end
				if !c.delivers || rapid.Bool().Draw(t, "removed") {
					if s.stub.InterruptToxic() {
						c.toxic.(toxics.CleanupToxic).Cleanup(s.stub)
					}
					if !s.stub.Closed() {
						close(s.out) // it was interrupted before it saw the end
					}
				}
				if got := <-received; got != total {
					t.Fatalf("%d of %d chunks came out in order", got, total)
				}
			})
		})
	}
}

// TestDelaysAreAsAsked looks at the times at which chunks leave.
func TestDelaysAreAsAsked(t *testing.T) {
	timer := testTimer(t)
	dues := func(t *testing.T, toxic Effect) (all []time.Duration) {
		s := newSubject(toxic, timer)
		sent := clock.Mono()
		for range 20 {
			s.in <- chunk(strings.Repeat("x", 1000))
		}
		s.stub.InterruptToxic()
		for _, p := range lineOf(s.stub).queue {
			all = append(all, time.Duration(p.due-sent))
		}
		if took := time.Duration(clock.Mono() - sent); len(all) != 20 || all[19] < all[0] || all[0] > longest+took {
			t.Fatalf("after %v: %v", took, all)
		}
		return all
	}
	const base, jitter = 30 * time.Second, 20 * time.Second
	first, again := dues(t, &Latency{Delay: base, Jitter: jitter}), dues(t, &Latency{Delay: base, Jitter: jitter})
	if first[0] < base || first[19] < base+jitter/2 || (first[19]-again[19]).Abs() > time.Second { // one second: sending them
		t.Errorf("%v, and %v with the same seed", first, again)
	}
	if all := dues(t, &Bandwidth{BytesPerS: 500}); all[0] < 2*time.Second || all[19]-all[0] != 38*time.Second {
		t.Errorf("1 kB each at 500 B/s: %v", all)
	}
	if all := dues(t, &Flaky{Loss: 1, Stall: base}); all[0] < base {
		t.Errorf("all are lost: %v", all)
	}
}
