package process

import (
	"bytes"
	"io"
	"log/slog"
	"net/rpc"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/internal/metrics"
	"locklab/internal/must"
	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// agent is the other end of a node's pipes.
type agent struct {
	io.ReadCloser
	io.Writer
}

// TestOrders: each is carried out and answered, and what a stopped process has recorded has left it.
func TestOrders(t *testing.T) {
	var events bytes.Buffer
	recorder := history.NewWriter(&events, "h", "m1")
	n := &Node{
		Recorder: recorder, Log: slog.New(slog.DiscardHandler), Clock: clock.NewSkewed(clock.System()),
		Points: NewPoints(recorder), Metrics: metrics.NewRegistry(),
	}
	in, stdin := io.Pipe()
	out, answers := io.Pipe()
	done := make(chan struct{})
	go func() { defer close(done); n.obey(in, answers) }()
	client := rpc.NewClient(agent{out, stdin})
	order := func(method string, in, out any) error { return client.Call("Orders."+method, in, out) }
	off := func() time.Duration {
		var now time.Time
		must.Do(t, order("ReadClock", struct{}{}, &now))
		return now.Sub(clock.System().Now())
	}
	const near = 30 * time.Second
	err := order("SetClock", Skew{Offset: time.Hour}, new(struct{}))
	if off := off(); off.Abs() > near || err == nil || !strings.Contains(err.Error(), "clock.rate 0: want more than 0") {
		t.Errorf("a rate of 0: off by %v, %v", off, err)
	}
	must.Do(t, order("SetClock", Skew{time.Hour, 1}, new(struct{})))
	if off := off(); (off - time.Hour).Abs() > near {
		t.Errorf("an hour ahead, it is off by %v", off)
	}
	var server Skew
	n.GoBy(func(s Skew) error { server = s; return nil }, func() (time.Time, error) { return clock.System().Now().Add(7 * time.Hour), nil })
	must.Do(t, order("SetClock", Skew{5, 2}, new(struct{})))
	if off := off(); server != (Skew{5, 2}) || (off-7*time.Hour).Abs() > near {
		t.Errorf("the clock of a server was set to %+v, and is off by %v", server, off)
	}
	var text string
	if must.Do(t, order("Metrics", struct{}{}, &text)); !strings.Contains(text, "\nprocess_start_time_seconds ") {
		t.Errorf("its metrics: %s", text)
	}
	n.Points.Pass(history.PointGranted, "r1")
	await := func(within time.Duration) error {
		return order("AwaitPoint", PauseAt{history.PointGranted, within}, new(struct{}))
	}
	if err := await(1); err == nil || !strings.Contains(err.Error(), "did not come to that within 1ns") {
		t.Errorf("a point that is not passed: %v", err)
	}
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		for n.Points.armed.Load() == nil {
			_ = clock.Sleep(t.Context(), time.Millisecond)
		}
		for _, point := range []string{history.PointReleasing, history.PointGranted, history.PointGranted} {
			n.Points.Pass(point, "r1")
		}
	}()
	must.Do(t, await(time.Minute))
	atStop := slices.Clone(events.Bytes())
	if signals.Closed(passed) {
		t.Error("it did not stop")
	}
	must.Do(t, order("LeavePoint", struct{}{}, new(struct{})))
	<-passed
	_ = stdin.Close()
	<-done
	_ = answers.Close()
	must.Do(t, recorder.Close())
	got := decodeLines(t, atStop)
	if len(got) != 1 || got[0].Kind != history.KindPoint || got[0].State != history.PointGranted || got[0].Resource != "r1" || got[0].Node != "m1" {
		t.Errorf("on record at the stop: %+v", got)
	}
	new(Points).Pass("x", "")
	(*Points)(nil).Pass("x", "")
}
