package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/reports/compare/stats"
	"locklab/workloads/result"
)

// patience is how many times as many rounds a row gets whose first rounds leave open whether it reaches its figure.
const patience = 4

var (
	rounds  = flag.Int("rounds", 6, fmt.Sprintf("counted rounds per row, after one that warms up; %d times as many while it is open whether a figure is reached", patience))
	each    = flag.Duration("each", time.Second, "how long one measurement takes")
	pattern = flag.String("rows", "", "regular expression: only rows whose name matches")
	check   = flag.Bool("check", false, "fail if a figure to reach is surely missed")
)

// row is one line of the table: a ratio of two subjects measured in turn, so that it holds although the machine's
// speed drifts.
type row struct {
	name  string  // the subject / its peer
	reach float64 // the figure to reach: of times at most, of rates at least; 0: the ratio is only reported
	unit  string  // of the two figures
	start starter
}

// starter makes the two subjects ready. peer is nil for a figure that stands for itself; then the row shows subject
// instead of a ratio.
type starter func(b testing.TB) (subject, peer measurement)

// measurement runs once for about the given time and returns its figure.
type measurement func(ctx context.Context, d time.Duration) (float64, error)

func rows() []row {
	return slices.Concat(redisRows(), serverRows(), multiphaseRows(), labRows())
}

// TestMain makes this program the other process of a row where it was started as one.
func TestMain(m *testing.M) {
	if len(os.Args) != 4 || os.Args[1] != "peer" {
		os.Exit(m.Run())
	}
	serve := map[string]func(ctx context.Context, config []byte) error{
		"raft": serveRaft, "multiphase": serveMultiphase,
	}[os.Args[2]]
	if err := serve(context.Background(), []byte(os.Args[3])); err != nil {
		fmt.Fprintf(os.Stderr, "bench peer %s: %v\n", os.Args[2], err)
		os.Exit(1)
	}
}

func BenchmarkRows(b *testing.B) {
	match, err := regexp.Compile(*pattern)
	if err != nil || *rounds < 1 || *each <= 0 {
		b.Fatalf("-rows wants a regular expression, -rounds and -each more than 0: %v", err)
	}
	fmt.Printf("ratios are medians of %d interleaved rounds of %v, or of %d where these leave open whether the figure to reach is, "+
		"[interval of the median, at 95 %% from 6 rounds on]; open: so do all rounds\n", *rounds, *each, patience**rounds)
	for _, r := range rows() {
		if match.MatchString(r.name) {
			b.Run(r.name, r.measure)
		}
	}
}

// measure runs subject and peer in turn, changing the order, and prints the row's line.
func (r row) measure(b *testing.B) {
	subject, peer := r.start(b)
	var figures [2][]float64
	var ratios []float64
	var low, high float64
	open := func() bool { return low < r.reach && r.reach < high }
	for i := 0; i <= *rounds || i <= patience**rounds && open(); i++ { // the first round warms up and is not counted
		now := [2]float64{0, 1}
		for n := range now {
			which := (n + i) % 2
			if m := []measurement{subject, peer}[which]; m != nil {
				var err error
				now[which], err = m(b.Context(), *each)
				must.Do(b, err)
			}
		}
		if i > 0 {
			figures[0], figures[1], ratios = append(figures[0], now[0]), append(figures[1], now[1]), append(ratios, now[0]/now[1])
			low, high, _ = stats.Interval(ratios)
		}
	}
	target, mark, missed := "reported", "", false
	if r.reach != 0 {
		if r.unit == "us" || r.unit == "s" {
			target, missed = fmt.Sprintf("<= %.4g", r.reach), low > r.reach
		} else {
			target, missed = fmt.Sprintf(">= %.4g", r.reach), high < r.reach
		}
		switch mark = "reached"; {
		case missed:
			mark = "MISSED"
		case open():
			mark = "open"
		}
	}
	absolute := fmt.Sprintf("%.4g", result.Median(figures[0]))
	if peer != nil {
		absolute += fmt.Sprintf(" / %.4g", result.Median(figures[1]))
	}
	ratio := result.Median(ratios)
	fmt.Printf("%-72s %8.3g  [%.3g .. %.3g] of %d  %-9s %-8s %s %s\n", r.name, ratio, low, high, len(ratios), target, mark, absolute, r.unit)
	b.ReportMetric(0, "ns/op") // which would be those of all rounds together
	b.ReportMetric(ratio, "ratio")
	if missed && *check {
		b.Errorf("%s: %.3g, want %s", r.name, ratio, target)
	}
}

// loop has workers do something over and over, and says how often they did, and took. A worker ends at its first error.
func loop(ctx context.Context, d time.Duration, workers int, once func(ctx context.Context, worker int) error) (n int, took time.Duration, err error) {
	served, errs := make([]int, workers), make([]error, workers)
	begin := clock.Mono()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for clock.Mono()-begin < int64(d) && ctx.Err() == nil && errs[w] == nil {
				if errs[w] = once(ctx, w); errs[w] == nil {
					served[w]++
				}
			}
		})
	}
	wg.Wait()
	for _, i := range served {
		n += i
	}
	return n, since(begin), errors.Join(append(errs, ctx.Err())...)
}

// rate is how often per second workers together do something once.
func rate(workers int, once func(ctx context.Context, worker int) error) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		n, took, err := loop(ctx, d, workers, once)
		return float64(n) / took.Seconds(), err
	}
}

// timed is the median, in microseconds, of the times that once returns.
func timed(once func(ctx context.Context) (time.Duration, error)) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		var all []float64
		for end := clock.Mono() + int64(d); clock.Mono() < end || len(all) == 0; {
			took, err := once(ctx)
			if err = errors.Join(err, ctx.Err()); err != nil {
				return 0, err
			}
			all = append(all, micros(took))
		}
		return result.Median(all), nil
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func since(begin int64) time.Duration { return time.Duration(clock.Mono() - begin) }

// ownKey, a key for each worker, and oneKey, the same for all, are names of what is locked.
func ownKey(worker int) string { return fmt.Sprint("key-", worker) }
func oneKey(int) string        { return "key" }

// taker has a worker take a lock, and says how it gives it back.
type taker func(ctx context.Context, worker int) (release func(context.Context) error, err error)

// pair is an acquisition and its release.
func (take taker) pair(ctx context.Context, worker int) error {
	release, err := take(ctx, worker)
	if err != nil {
		return err
	}
	return release(ctx)
}

// of has each worker take its key of a client, which are used in turn.
func of(key func(worker int) string, clients ...locks.Locker) taker {
	return func(ctx context.Context, w int) (func(context.Context) error, error) {
		lease, err := clients[w%len(clients)].Acquire(ctx, key(w))
		if err != nil {
			return nil, err
		}
		return lease.Release, nil
	}
}

// acquire times Acquire alone; the release is outside of it.
func acquire(ctx context.Context, l locks.Locker, resource string) (time.Duration, error) {
	begin := clock.Mono()
	lease, err := l.Acquire(ctx, resource)
	took := since(begin)
	if err != nil {
		return 0, err
	}
	return took, lease.Release(ctx)
}

// TestRowsCanBeMeasured measures a row of each kind, for a moment.
func TestRowsCanBeMeasured(t *testing.T) {
	kinds := regexp.MustCompile(`^(redlock acquire.* 16|redis:pubsub.* 2 clients|postgres:lease|etcd .*distinct|zookeeper .*herd.* 16|raft .*our own|` +
		`multiphase acquire p50.* 3|multiphase, 1,000|multiphase:cohort|link:|generator: lateness p99 /)`)
	for _, r := range rows() {
		if !kinds.MatchString(r.name) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			subject, peer := r.start(t)
			for which, m := range []measurement{subject, peer} {
				if m == nil {
					continue
				}
				if figure, err := m(t.Context(), 100*time.Millisecond); err != nil || figure <= 0 {
					t.Errorf("side %d: %v %s: %v", which, figure, r.unit, err)
				}
			}
		})
	}
}
