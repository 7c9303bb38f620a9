package loadgen_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"locklab/internal/must"
	"locklab/internal/seed"
	"locklab/locks/clock"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tally is what became of the measured operations of a load.
type tally struct {
	mu     sync.Mutex
	late   []time.Duration // of those that were sent
	unsent uint64
}

// open generates the load and counts.
func (c *tally) open(ctx context.Context, cfg loadgen.Config, pacer loadgen.Pacer, do func(context.Context, loadgen.Op)) {
	cfg.Unsent = func(n uint64, from, to int64) {
		if from > to {
			panic(fmt.Sprintf("unsent from %d to %d", from, to))
		}
		c.unsent += n
	}
	if err := loadgen.Open(ctx, cfg, pacer, func(ctx context.Context, op loadgen.Op) {
		if op.IntendedNS >= cfg.StartNS+int64(cfg.Warmup) {
			c.mu.Lock()
			c.late = append(c.late, time.Duration(op.SentNS-op.IntendedNS))
			c.mu.Unlock()
		}
		do(ctx, op)
	}); err != nil {
		panic(err)
	}
}

func (c *tally) sent() int { return len(c.late) }

// behind says that the load was not what it was to be.
func (c *tally) behind() bool {
	slices.Sort(c.late)
	return c.late[c.sent()*99/100] > loadgen.MaxLateness || float64(c.sent()) < loadgen.MinSent*float64(uint64(c.sent())+c.unsent)
}

// constant schedules rate operations per second at equal distances.
func constant(rate float64) loadgen.Pacer {
	return func(yield func(time.Duration) bool) {
		for i := 0.0; yield(time.Duration(math.Round(i * float64(time.Second) / rate))); i++ {
		}
	}
}

func first(p loadgen.Pacer, n int) []time.Duration {
	times := make([]time.Duration, 0, n)
	for at := range p {
		if times = append(times, at); len(times) == n {
			break
		}
	}
	return times
}

func TestPacersArePure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.1, 1e6).Draw(t, "rate")
		size := rapid.IntRange(1, 6).Draw(t, "party")
		s := seed.Seed(rapid.Uint64().Draw(t, "seed"))
		for name, p := range map[string]loadgen.Pacer{"constant": constant(rate), "poisson": loadgen.Poisson(rate, s)} {
			p = loadgen.Parties(p, size)
			a := first(p, 300)
			if !slices.Equal(a, first(p, 300)) {
				t.Fatalf("%s: two schedules from one seed", name)
			}
			if !slices.IsSorted(a) || a[0] < 0 {
				t.Fatalf("%s: not in order", name)
			}
			for i, at := range a {
				if at != a[i-i%size] {
					t.Fatalf("%s: operation %d is not with its party", name, i)
				}
			}
		}
	})
}

func TestPacersKeepTheRate(t *testing.T) {
	const n, rate = 100_000, 2_000
	for name, p := range map[string]loadgen.Pacer{
		"constant": constant(rate), "poisson": loadgen.Poisson(rate, 1),
		"parties": loadgen.Parties(loadgen.Poisson(rate/4, 1), 4),
	} {
		times := first(p, n)
		if got := n / times[n-1].Seconds(); math.Abs(got-rate) > rate*0.03 {
			t.Errorf("%s: %f a second, want %d", name, got, rate)
		}
	}
	// Poisson: the distances' deviation equals their mean.
	sum, squares := 0.0, 0.0
	times := first(loadgen.Poisson(rate, 2), n)
	for i := 1; i < n; i++ {
		d := (times[i] - times[i-1]).Seconds() * rate
		sum += d
		squares += d * d
	}
	mean := sum / (n - 1)
	if deviation := math.Sqrt(squares/(n-1) - mean*mean); math.Abs(deviation-1) > 0.03 {
		t.Errorf("deviation %f of the mean, want 1", deviation)
	}
}

func TestRampRisesEvenlyAndThenKeepsTheRate(t *testing.T) {
	const rate, within = 1000, 2 * time.Second
	var counts [5]int // by second
	last := time.Duration(-1)
	for at := range loadgen.Ramp(constant(rate), within) {
		if at < last {
			t.Fatalf("%v comes after %v", at, last)
		}
		if at >= 5*time.Second {
			break
		}
		last = at
		counts[int(at/time.Second)]++
	}
	for second, want := range [5]int{rate / 4, rate * 3 / 4, rate, rate, rate} {
		if got := counts[second]; got < want-1 || got > want+1 {
			t.Errorf("second %d: %d operations, want %d", second, got, want)
		}
	}
}

func TestOpenSendsEverythingAtItsTime(t *testing.T) {
	const rate = 2000
	for range 20 { // a machine that is too busy for the load says nothing about the generator
		if openOnce(t, rate) {
			return
		}
	}
	t.Error("the generator fell behind twenty times")
}

// openOnce checks one run, unless the generator fell behind.
func openOnce(t *testing.T, rate int) (kept bool) {
	t.Helper()
	var mu sync.Mutex
	var ops []loadgen.Op
	var phases []string
	times := map[string]int64{}
	start := clock.Mono() + int64(20*time.Millisecond)
	var c tally
	c.open(t.Context(), loadgen.Config{
		Warmup: 100 * time.Millisecond, Duration: 200 * time.Millisecond, StartNS: start,
		Phase: func(state string, at int64) { phases = append(phases, state); times[state] = at },
	}, constant(float64(rate)), func(_ context.Context, op loadgen.Op) {
		mu.Lock()
		ops = append(ops, op)
		mu.Unlock()
	})
	if c.behind() {
		return false
	}
	if len(ops) != 600 || c.sent() != 400 || c.unsent != 0 {
		t.Errorf("%d operations, %d of them measured, %d unsent", len(ops), c.sent(), c.unsent)
	}
	slices.SortFunc(ops, func(a, b loadgen.Op) int { return int(a.Index) - int(b.Index) })
	for i, op := range ops {
		if op.Index != uint64(i) || op.IntendedNS != start+int64(i)*int64(time.Second)/int64(rate) || op.SentNS < op.IntendedNS {
			t.Fatalf("operation %d: %+v", i, op)
		}
	}
	if got := strings.Join(phases, " "); got != "warmup measure drain end" {
		t.Errorf("phases %s", got)
	}
	if times["warmup"] != start || times["measure"] != start+1e8 || times["drain"] != start+3e8 || times["end"] < times["drain"] {
		t.Errorf("phases at %v", times)
	}
	return true
}

func TestSlowAnswersDoNotSlowTheSchedule(t *testing.T) {
	release := make(chan struct{})
	var running atomic.Int64
	var c tally
	c.open(t.Context(), loadgen.Config{Duration: 200 * time.Millisecond}, constant(1000), func(context.Context, loadgen.Op) {
		if running.Add(1) == 200 {
			close(release) // all are in flight at once, or this waits for ever
		}
		<-release
	})
	if c.sent() != 200 {
		t.Errorf("%d sent", c.sent())
	}
}

func TestTheBoundIsCountedNotHidden(t *testing.T) {
	const offered, bound = 50_000, 20_000
	release := make(chan struct{})
	var c tally
	c.open(t.Context(), loadgen.Config{
		Duration: 500 * time.Millisecond,
		Phase: func(state string, _ int64) {
			if state == history.PhaseDrain {
				close(release)
			}
		},
	}, loadgen.Parties(constant(offered), 2), func(context.Context, loadgen.Op) { <-release })
	if c.sent() > bound || c.sent()+int(c.unsent) != offered || !c.behind() {
		t.Errorf("%d sent, %d unsent, behind %v", c.sent(), c.unsent, c.behind())
	}
}

// TestACutDrainHasNoEnd: of what was in flight when all was called off, nobody knows how it would have
// ended. What was cut before that says so by its length.
func TestACutDrainHasNoEnd(t *testing.T) {
	for at, want := range map[string]string{history.PhaseDrain: "warmup measure drain", history.PhaseMeasure: "warmup measure drain end"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var phases []string
		cfg := loadgen.Config{Duration: 20 * time.Millisecond, Phase: func(state string, _ int64) {
			if phases = append(phases, state); state == at {
				cancel()
			}
		}}
		must.Do(t, loadgen.Open(ctx, cfg, constant(1000), func(ctx context.Context, _ loadgen.Op) { <-ctx.Done() }))
		if got := strings.Join(phases, " "); got != want {
			t.Errorf("called off at %s: phases %s, want %s", at, got, want)
		}
	}
}

// TestADialChangesWhatIsDueFromThenOn: before a turn nothing changes, and after it as many
// are due as the new rate says.
func TestADialChangesWhatIsDueFromThenOn(t *testing.T) {
	const rate = 1000
	var d loadgen.Dial
	var counts [6]int // by second
	for at := range d.Pace(constant(rate)) {
		if at >= 6*time.Second {
			break
		}
		counts[at/time.Second]++
		switch {
		case counts[3] >= 3*rate-2:
			d.Turn(0.5)
		case counts[1] == rate:
			d.Turn(3)
		}
	}
	for second, want := range [6]int{rate, rate, 3 * rate, 3 * rate, rate / 2, rate / 2} {
		if got := counts[second]; got < want-3 || got > want+3 {
			t.Errorf("second %d: %d operations, want %d", second, got, want)
		}
	}
}

// TestStopEndsTheScheduleAndNoOperation: what is in flight is not interrupted.
func TestStopEndsTheScheduleAndNoOperation(t *testing.T) {
	stop := make(chan struct{})
	var sent, interrupted atomic.Int64
	var phases []string
	drained := make(chan struct{})
	must.Do(t, loadgen.Open(t.Context(), loadgen.Config{
		Duration: time.Hour, Stop: stop,
		Phase: func(state string, _ int64) {
			if phases = append(phases, state); state == history.PhaseDrain {
				close(drained)
			}
		},
	}, constant(1000), func(ctx context.Context, _ loadgen.Op) {
		if sent.Add(1) == 20 {
			close(stop)
		}
		<-drained
		if ctx.Err() != nil {
			interrupted.Add(1)
		}
	}))
	if sent.Load() < 20 || interrupted.Load() > 0 {
		t.Errorf("%d sent, %d interrupted", sent.Load(), interrupted.Load())
	}
	if got := strings.Join(phases, " "); got != "warmup measure drain end" {
		t.Errorf("phases %s", got)
	}
}
