package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"locklab/chaos/link"
	"locklab/internal/must"
	"locklab/locks/clock"
	"locklab/workloads/check/judge"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
	"locklab/workloads/result"
)

// labRows say what the links add to what is measured through them, how late the generator is, and how fast the checker.
func labRows() []row {
	path := func(b testing.TB, delay *link.Delay) measurement {
		echo, err := serveEcho(b.Context(), "127.0.0.1:0")
		must.Do(b, err)
		b.Cleanup(func() { _ = echo.Close() })
		addr := echo.Addr().String()
		if delay != nil {
			config := link.DefaultConfig()
			config.Host = "bench"
			host, err := link.NewHost(config)
			must.Do(b, err)
			b.Cleanup(host.Close)
			addr, err = host.Open(link.Spec{Name: "echo", ToHost: "bench", ToNode: "echo", Upstream: addr, Up: *delay})
			must.Do(b, err)
		}
		conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", addr)
		must.Do(b, err)
		b.Cleanup(func() { _ = conn.Close() })
		return timed(func(context.Context) (time.Duration, error) { return roundTrip(conn) })
	}
	rows := []row{
		{"link: round trip through a link p50 / direct p50", 4, "us", func(b testing.TB) (subject, peer measurement) {
			return path(b, new(link.Delay)), path(b, nil)
		}},
		{"generator: lateness p99 at 10,000 operations/s", 150, "us", func(testing.TB) (subject, peer measurement) {
			return generatorLateness, nil
		}},
		{"generator: lateness p99 / that of a bare loop that sleeps until the same moments", 2, "us", func(testing.TB) (subject, peer measurement) {
			return generatorLateness, bareLateness
		}},
		{"checker: read and check a history of a million events", 1, "s", startChecker},
	}
	for _, delay := range []time.Duration{time.Millisecond, 300 * time.Microsecond} {
		rows = append(rows, row{fmt.Sprintf("link: error of an injected delay of %v, p50", delay), 100, "us", func(b testing.TB) (subject, peer measurement) {
			plain, delayed := path(b, new(link.Delay)), path(b, &link.Delay{Base: delay})
			return func(ctx context.Context, d time.Duration) (float64, error) {
				without, err1 := plain(ctx, d/2) // what a link costs without a delay is taken off
				with, err2 := delayed(ctx, d/2)
				return math.Abs(with - without - micros(delay)), cmp.Or(err1, err2)
			}, nil
		}})
	}
	return rows
}

// arrivals are those of the rows on the generator.
func arrivals() loadgen.Pacer { return loadgen.Poisson(10_000, 1) }

// generatorLateness is in microseconds: how much later than intended 99 % of the
// operations began, in a worker.
func generatorLateness(ctx context.Context, d time.Duration) (float64, error) {
	var mu sync.Mutex
	var late []time.Duration
	loadgen.Open(ctx, loadgen.Config{Duration: d}, arrivals(), func(_ context.Context, op loadgen.Op) {
		mu.Lock()
		defer mu.Unlock()
		late = append(late, time.Duration(op.SentNS-op.IntendedNS))
	})
	return p99(late), ctx.Err()
}

// bareLateness is the same of one thread that only sleeps: what this machine allows.
func bareLateness(ctx context.Context, d time.Duration) (float64, error) {
	defer clock.Pin()()
	var late []time.Duration
	began := clock.Mono()
	for at := range arrivals() {
		if at > d || ctx.Err() != nil {
			break
		}
		clock.SleepPinned(began + int64(at))
		late = append(late, since(began)-at)
	}
	return p99(late), ctx.Err()
}

// p99 is in microseconds.
func p99(late []time.Duration) float64 {
	slices.Sort(late)
	return micros(late[len(late)*99/100])
}

// checkedEvents is the size of the history that the checker reads: half a million
// acquisitions and their releases.
const checkedEvents = 1_000_000

func startChecker(b testing.TB) (subject, peer measurement) {
	path := filepath.Join(b.TempDir(), "history.jsonl")
	must.Do(b, writeMutexHistory(path, checkedEvents))
	return func(ctx context.Context, _ time.Duration) (float64, error) {
		began := clock.Mono()
		row, err := judge.File(ctx, path)
		if err != nil {
			return 0, fmt.Errorf("check history: %w", err)
		}
		if holds := row.Figures["requests"]; row.Verdict.Safety.State != result.OK || holds < checkedEvents/2-8 { // asked for from the beginning on
			return 0, fmt.Errorf("check history: safety is %v of %.0f holds, want ok of %d", row.Verdict.Safety, holds, checkedEvents/2)
		}
		return since(began).Seconds(), nil
	}, nil
}

// writeMutexHistory is a run of 64 clients on two masters that compete for eight
// resources with a lock that works.
func writeMutexHistory(path string, events int) error {
	w, err := history.Create(path)
	if err != nil {
		return err
	}
	w.Record(history.Event{Kind: history.KindRun, Run: &history.Run{Schema: history.Schema, Workload: "mutex", Lock: "multiphase", DurationNS: int64(time.Minute)}})
	w.Record(history.Event{Kind: history.KindPhase, State: loadgen.PhaseMeasure})
	for n := 0; 2*n < events; n++ {
		node := "master-" + strconv.Itoa(n%2+1)
		at := int64(n/8+1) * int64(time.Millisecond)
		e := history.Event{
			Kind: history.KindAcquire, FromNS: at - 900_000, SentNS: at - 890_000, AtNS: at, Node: node,
			Client: node + "/c" + strconv.Itoa(n%64), Hold: "h-" + node + "-" + strconv.Itoa(n), Resource: "r" + strconv.Itoa(n%8),
			Outcome: "ok", Token: uint64(n/8 + 1), Messages: uint64(3 * n), //nolint:gosec // not negative
		}
		w.Record(e)
		e.Kind, e.FromNS, e.SentNS, e.AtNS = history.KindRelease, at+500_000, 0, at+600_000
		w.Record(e)
	}
	end := int64(events/16+1) * int64(time.Millisecond)
	w.Record(history.Event{Kind: history.KindPhase, State: loadgen.PhaseDrain, AtNS: end})
	w.Record(history.Event{Kind: history.KindPhase, State: loadgen.PhaseEnd, AtNS: end})
	return w.Close()
}
