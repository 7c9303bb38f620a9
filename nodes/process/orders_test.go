package process

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/metrics"
	"locklab/internal/must"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/workloads/history"
)

// TestOrders: each is carried out and answered, in order, and what is none ends nothing.
func TestOrders(t *testing.T) {
	var events bytes.Buffer
	recorder := NewRecorder(&events, "h", "m1")
	stops := 0
	n := &Node{
		Recorder: recorder, Log: slog.New(slog.DiscardHandler), Clock: clock.NewSkewed(clock.System()),
		Points: NewPoints(recorder, func() { stops++ }), Metrics: metrics.NewRegistry(),
	}
	in, agent := io.Pipe()
	out, answers := io.Pipe()
	done := make(chan struct{})
	go func() { defer close(done); n.obey(t.Context(), in, answers) }()
	lines := bufio.NewScanner(out)
	ask := func(order string) (a Answer) {
		t.Helper()
		if _, err := io.WriteString(agent, order+"\n"); err != nil || !lines.Scan() {
			t.Fatal(err, lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil || a.Number == 0 {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		return a
	}
	off := func() time.Duration { return time.Unix(0, ask(`{"number":1}`).WallNS).Sub(clock.System().Now()) }
	pass := func(all ...string) {
		for _, point := range all {
			n.Points.Pass(point, "r1")
		}
	}
	const near = 30 * time.Second
	for _, bad := range []string{"", "nonsense", `{"number":2,"stop":true}`} {
		if _, err := io.WriteString(agent, bad+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	a := ask(`{"number":2,"clock":{"offset_ns":3600000000000,"rate":0}}`)
	if off := off(); off.Abs() > near || !strings.Contains(a.Error, "clock.rate 0: want more than 0") {
		t.Errorf("a rate of 0: off by %v, %q", off, a.Error)
	}
	a = ask(`{"number":3,"clock":{"offset_ns":3600000000000,"rate":1}}`)
	if off := off(); (off-time.Hour).Abs() > near || a.Error != "" {
		t.Errorf("an hour ahead, it is off by %v, %q", off, a.Error)
	}
	var server fakeServer
	n.GoBy(&server)
	ask(`{"number":4,"clock":{"offset_ns":5,"rate":2}}`)
	if a := ask(`{"number":5}`); server != (fakeServer{5, 2}) || a.WallNS != 7 {
		t.Errorf("the clock of a server was set to %+v, and read as %+v", server, a)
	}
	if a := ask(`{"number":6,"metrics":true}`); !strings.Contains(a.Metrics, "\nprocess_start_time_seconds ") {
		t.Errorf("its metrics: %+v", a)
	}
	pass(history.PointGranted)
	ask(`{"number":4,"pause_at":{"point":"granted","within_ns":60000000000}}`)
	pass(history.PointAcquiring, history.PointReleasing)
	if stops != 0 {
		t.Error("it stopped elsewhere")
	}
	pass(history.PointGranted, history.PointGranted)
	ask(`{"number":5,"pause_at":{"point":"releasing","within_ns":1}}`)
	locktest.Eventually(t, "its time is over", func() bool { return n.Points.armed.Load() == nil })
	pass(history.PointReleasing)
	if stops != 1 {
		t.Errorf("it stopped %d times, want once", stops)
	}
	_ = agent.Close()
	<-done
	must.Do(t, recorder.Close())
	got := decodeLines(t, events.Bytes())
	if len(got) != 1 || got[0].Kind != history.KindPoint || got[0].State != history.PointGranted || got[0].Resource != "r1" || got[0].Node != "m1" {
		t.Errorf("%+v", got)
	}
	new(Points).Pass("x", "")
	(*Points)(nil).Pass("x", "")
}

type fakeServer Skew

func (s *fakeServer) Set(skew Skew) error { *s = fakeServer(skew); return nil }

func (s *fakeServer) Now(context.Context) (time.Time, error) { return time.Unix(0, 7), nil }

// TestPointsAreOnRecordBeforeTheStop: what a stopped process has recorded has left it.
func TestPointsAreOnRecordBeforeTheStop(t *testing.T) {
	var events bytes.Buffer
	recorder := NewRecorder(&events, "h", "m1")
	var atStop []byte
	p := NewPoints(recorder, func() { atStop = slices.Clone(events.Bytes()) })
	p.arm(PauseAt{history.PointAcquiring, time.Minute})
	p.Pass(history.PointAcquiring, "r1")
	if got := decodeLines(t, atStop); len(got) != 1 || got[0].State != history.PointAcquiring {
		t.Errorf("%s", atStop)
	}
	must.Do(t, recorder.Close())
}

// TestALongOrderIsNone: and standard input is read to its end all the same.
func TestALongOrderIsNone(t *testing.T) {
	main := func(ctx context.Context, node *Node) error { <-ctx.Done(); return ctx.Err() }
	stdin := io.MultiReader(bytes.NewReader(bytes.Repeat([]byte("x"), 2*maxOrder)), bytes.NewReader([]byte("\n")))
	must.Do(t, run(t.Context(), writeConfig(t, config(t)), streams{stdin, io.Discard, io.Discard, io.Discard}, main))
}
