package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	json "github.com/go-json-experiment/json/v1"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	nodeprocess "locklab/nodes/process"
	"locklab/reports/compare/stats"
	"locklab/workloads/result"
)

var (
	rounds  = flag.Int("rounds", 6, fmt.Sprintf("counted rounds per row, after one that warms up; %d times as many while it is open whether a figure is reached", patience))
	each    = flag.Duration("each", time.Second, "how long one measurement takes")
	pattern = flag.String("rows", "", "regular expression: only rows whose name matches")
	check   = flag.Bool("check", false, "fail if a figure to reach is surely missed")
)

// row is one line of the table: a ratio of two subjects measured in turn, in one
// run, so that it holds although the machine's speed drifts.
type row struct {
	name string // the subject / its peer
	// reach is the figure to reach: at least, or at most if atMost is set. Zero: the
	// ratio is only reported.
	reach  float64
	atMost bool
	unit   string // of the two figures
	// start makes the two subjects ready. peer is nil for a figure that stands for itself;
	// then the row shows subject instead of a ratio.
	start func(b testing.TB) (subject, peer measurement)
}

// measurement runs once for about the given time and returns its figure.
type measurement func(ctx context.Context, d time.Duration) (float64, error)

// pass is one turn of a worker, such as an acquisition and its release.
type pass func(ctx context.Context, worker int) error

func rows() []row {
	return slices.Concat(
		redlockRows(), redisRows(), postgresRows(), etcdRows(), zookeeperRows(), raftRows(),
		multiphaseRows(), linkRows(), workloadRows(),
	)
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

// patience is how many times as many rounds a row gets whose first rounds leave open whether
// it reaches its figure.
const patience = 4

// measure runs subject and peer in turn, changing the order, and prints the row's line.
func (r row) measure(b *testing.B) {
	var figures [2][]float64
	var ratios []float64
	var sides [2]measurement
	sides[0], sides[1] = r.start(b)
	var low, high float64
	open := func() bool { return low < r.reach && r.reach < high }
	for i := 0; i <= *rounds || i <= patience**rounds && open(); i++ { // the first round warms up and is not counted
		now := [2]float64{0, 1}
		for n := range now {
			which := (n + i) % 2
			if sides[which] == nil {
				continue
			}
			var err error
			now[which], err = sides[which](b.Context(), *each)
			must.Do(b, err)
		}
		if i == 0 {
			continue
		}
		figures[0], figures[1], ratios = append(figures[0], now[0]), append(figures[1], now[1]), append(ratios, now[0]/now[1])
		low, high, _ = stats.Interval(ratios)
	}
	target, mark := "reported", ""
	missed := r.reach != 0 && (r.atMost && low > r.reach || !r.atMost && high < r.reach)
	if r.reach != 0 {
		target = fmt.Sprintf("%s %.4g", map[bool]string{true: "<=", false: ">="}[r.atMost], r.reach)
		switch mark = "reached"; {
		case missed:
			mark = "MISSED"
		case open():
			mark = "open"
		}
	}
	absolute := fmt.Sprintf("%.4g", median(figures[0]))
	if sides[1] != nil {
		absolute += fmt.Sprintf(" / %.4g", median(figures[1]))
	}
	fmt.Printf("%-72s %8.3g  [%.3g .. %.3g] of %d  %-9s %-8s %s %s\n",
		r.name, median(ratios), low, high, len(ratios), target, mark, absolute, r.unit)
	b.ReportMetric(0, "ns/op") // which would be those of all rounds together
	b.ReportMetric(median(ratios), "ratio")
	if missed && *check {
		b.Errorf("%s: %.3g, want %s", r.name, median(ratios), target)
	}
}

func median(values []float64) float64 { return result.Median(values) }

// loop has workers do something over and over. It counts how often each did, and takes
// the time until the last was through. A worker ends at its first error.
func loop(ctx context.Context, d time.Duration, workers int, once pass) (served []int, took time.Duration, err error) {
	served = make([]int, workers)
	errs := make([]error, workers)
	begin := clock.Mono()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for clock.Mono()-begin < int64(d) && ctx.Err() == nil {
				if errs[w] = once(ctx, w); errs[w] != nil {
					return
				}
				served[w]++
			}
		})
	}
	wg.Wait()
	return served, since(begin), errors.Join(append(errs, ctx.Err())...)
}

// rate is how often per second workers together do something once.
func rate(workers int, once pass) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		served, took, err := loop(ctx, d, workers, once)
		return float64(sum(served)) / took.Seconds(), err
	}
}

func sum(all []int) (n int) {
	for _, i := range all {
		n += i
	}
	return n
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
		return median(all), nil
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func since(begin int64) time.Duration { return time.Duration(clock.Mono() - begin) }

// ownKey, a key for each worker, and oneKey, the same for all, are names of what is locked.
func ownKey(worker int) string { return fmt.Sprint("key-", worker) }
func oneKey(int) string        { return "key" }

// pairs has each worker acquire and release its key of one client.
func pairs(l locks.Locker, key func(worker int) string) pass {
	return func(ctx context.Context, w int) error { return pair(ctx, l, key(w)) }
}

func pair(ctx context.Context, l locks.Locker, resource string) error {
	_, err := acquire(ctx, l, resource)
	return err
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

// process is one that a row started; it is killed with the row.
type process struct {
	stdin  io.Writer // its end tells our own processes to end
	stdout io.Reader
}

func start(b testing.TB, cmd *exec.Cmd) process {
	b.Helper()
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	must.Do(b, errors.Join(err1, err2, cmd.Start()))
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	return process{stdin, stdout}
}

// startPeer starts this program again, to serve what TestMain calls kind.
func startPeer(b testing.TB, kind string, config any, env ...string) process {
	b.Helper()
	text, err := json.Marshal(config)
	must.Do(b, err)
	cmd := exec.Command(os.Args[0], "peer", kind, string(text))
	cmd.Env = append(os.Environ(), env...)
	return start(b, cmd)
}

func freePorts(b testing.TB, n int) (addrs []string) {
	b.Helper()
	for range n {
		addrs = append(addrs, locktest.FreeAddr(b))
	}
	return addrs
}

// await tries until the server answers.
func await(b testing.TB, what string, try func(context.Context) error) {
	b.Helper()
	if err := nodeprocess.Await(locktest.Within(b), func() error {
		once, done := context.WithTimeout(b.Context(), time.Second)
		defer done()
		return try(once)
	}); err != nil {
		b.Fatalf("%s: %v", what, err)
	}
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
				figure, err := m(t.Context(), 100*time.Millisecond)
				must.Do(t, err)
				if figure <= 0 {
					t.Errorf("side %d: %v %s", which, figure, r.unit)
				}
			}
		})
	}
}
