package lab

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"locklab/chaos/scenario"
	"locklab/internal/must"
	"locklab/locks/clock"
	"locklab/nodes/topology"
	"locklab/reports/live"
	"locklab/workloads/check/judge"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
)

// sampled is the history of a run of the sample report, and the run as the live page has it.
func sampled(tb testing.TB, lock, under string) (string, []history.Event, live.Run) {
	tb.Helper()
	path := filepath.Join("..", "..", "..", "..", "reports", "sample", "histories", lock, under+".matchmaking.1.jsonl.gz")
	events, _, err := historytest.ReadFile(context.Background(), path)
	if err != nil {
		tb.Fatal(err)
	}
	head := events[0].Run
	topo, err := topology.Load(head.Topology)
	if err != nil {
		tb.Fatal(err)
	}
	c := configFor(tb, topo, lock)
	c.Duration, c.Rate = time.Duration(head.DurationNS), head.OfferedPS
	x := &experiment{config: c, lock: c.Locks[0], scenario: scenario.Scenario{Name: under}, repeat: 1}
	run := x.liveRun(newPlan(c, c.Locks[0], "replay", 1))
	return path, events, run
}

// replay tells a board what happened in a run, in the run's own time.
func replay(events []history.Event, run live.Run, board *live.Board) {
	board.Begin(run)
	slices.SortStableFunc(events[1:], func(a, b history.Event) int { return cmp.Compare(a.AtNS, b.AtNS) })
	shift := clock.Mono() - events[1].AtNS
	moved := func(at int64) int64 {
		if at == 0 {
			return 0
		}
		return at + shift
	}
	for i := range events {
		e := events[i]
		if e.Kind == history.KindClock || e.Kind == history.KindMachine {
			continue
		}
		if i > 0 {
			_ = clock.Sleep(context.Background(), time.Duration(moved(e.AtNS)-clock.Mono())) // it waits for no time that is over
		}
		e.AtNS, e.FromNS, e.SentNS = moved(e.AtNS), moved(e.FromNS), moved(e.SentNS)
		board.Record(e)
	}
}

func boardOf(run live.Run) *live.Board {
	return live.New(live.Info{
		Title: "a replay", Runs: 1, Duplicates: duplicates,
		Zones: []live.Zone{{Name: "ap-northeast-2a", Short: "a"}, {Name: "ap-northeast-2c", Short: "c"}},
	})
}

// TestLivePageCountsWhatTheCheckerCounts plays the run of the sample again: the page's last count of
// duplicates is that of the checker.
func TestLivePageCountsWhatTheCheckerCounts(t *testing.T) {
	path, events, run := sampled(t, "multiphase", "zone-partition")
	row, err := judge.File(t.Context(), path)
	must.Do(t, err)
	want := fmt.Sprint(row.Figures["duplicates"])
	synctest.Test(t, func(t *testing.T) {
		board := boardOf(run)
		handler := board.Handler()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { board.Show(ctx) })
		seen := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/events?lang=en", nil)
		all.Go(func() { handler.ServeHTTP(seen, request) })
		replay(events, run, board)
		_ = clock.Sleep(ctx, time.Second)
		cancel()
		all.Wait()
		counts := regexp.MustCompile(`<b>([\d,]+)</b> <span>duplicates`).FindAllStringSubmatch(unescape(seen.Body.String()), -1)
		if len(counts) == 0 || counts[len(counts)-1][1] != want {
			t.Errorf("the page counted %v in the end, the checker %s", counts[max(len(counts)-1, 0):], want)
		}
	})
}

func unescape(text string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(text)
}
