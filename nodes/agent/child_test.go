package agent

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/httpapi"
	"locklab/internal/must"
	"locklab/workloads/history"
)

// TestPauseAtAPointOfTheWork: the process stands still exactly there, nobody takes that for a
// standstill that nobody asked for, and it goes on from there.
func TestPauseAtAPointOfTheWork(t *testing.T) {
	_, c := newAgent(t, nil)
	col := collect(t, c)
	ctx := t.Context()
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-1", Role: "own", Settings: jsontext.Value(`{"works":true}`)}))
	const rounds = 3
	for range rounds {
		must.Do(t, c.Pause(ctx, "own-1", history.PointGranted, 10*time.Second))
		if s := state(t, c, "own-1"); s != "paused" {
			t.Fatalf("after the pause it is %s", s)
		}
		must.Do(t, c.Resume(ctx, "own-1"))
	}
	err := c.Pause(ctx, "own-1", history.PointReleasing, 50*time.Millisecond) // it never does
	if !errors.Is(err, httpapi.ErrConflict) || !strings.Contains(err.Error(), "did not come to that within 50ms") {
		t.Errorf("a point that is never passed: %v", err)
	}
	must.Do(t, c.Pause(ctx, "own-1", history.PointAcquiring, 10*time.Second))
	if err := c.Pause(ctx, "own-1", history.PointAcquiring, time.Second); !errors.Is(err, httpapi.ErrConflict) {
		t.Errorf("a pause of who stands still: %v", err)
	}
	must.Do(t, c.Resume(ctx, "own-1"))
	must.Do(t, c.Stop(ctx, "own-1"))

	var states []string
	events := col.drained() // of two sources, the node and its agent
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.AtNS, b.AtNS) })
	for _, e := range events {
		switch {
		case e.Kind == history.KindPoint, e.Kind == history.KindNode:
			states = append(states, e.State)
		case e.Kind == history.KindAcquire && (len(states) == 0 || states[len(states)-1] != "worked"):
			states = append(states, "worked")
		}
	}
	want := []string{"started", "ready"}
	for range rounds {
		want = append(want, "granted", "paused", "resumed")
	}
	want = append(want, "acquiring", "paused", "resumed", "stopped")
	if states = slices.DeleteFunc(states, func(s string) bool { return s == "worked" }); !slices.Equal(states, want) {
		t.Errorf("got  %v\nwant %v", states, want)
	}
}

func TestPauseAtNoPoint(t *testing.T) {
	_, c := newAgent(t, nil)
	ctx := t.Context()
	must.Do(t, c.Start(ctx, NodeSpec{Name: "plain-1", Role: "plain"}))
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-1", Role: "own"}))
	for _, bad := range []struct{ node, point string }{{"plain-1", history.PointGranted}, {"own-1", "writing"}} {
		if err := c.Pause(ctx, bad.node, bad.point, time.Second); !errors.Is(err, httpapi.ErrInvalid) || !strings.Contains(err.Error(), "only masters pause at points: want one of [acquiring granted releasing]") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	must.Do(t, c.Kill(ctx, "own-1"))
	if err := c.Pause(ctx, "own-1", history.PointGranted, time.Second); !errors.Is(err, httpapi.ErrConflict) {
		t.Errorf("one that was killed: %v", err)
	}
}

// TestClockOfAnOwnNode: it is the node's word that it was set, and that it drifts.
func TestClockOfAnOwnNode(t *testing.T) {
	_, c := newAgent(t, nil)
	ctx := t.Context()
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-1", Role: "own"}))
	off := func() time.Duration {
		t.Helper()
		off, err := c.NodeClock(ctx, "own-1")
		must.Do(t, err)
		return off
	}
	const near = 30 * time.Second
	if off := off(); off.Abs() > near {
		t.Errorf("a right clock is off by %v", off)
	}
	must.Do(t, c.SetClock(ctx, "own-1", -time.Hour, 1))
	if off := off(); (off + time.Hour).Abs() > near {
		t.Errorf("an hour behind, it is off by %v", off)
	}
	must.Do(t, c.SetClock(ctx, "own-1", 0, 10))
	for first := off(); off() < first+time.Second; {
	}
	if err := c.SetClock(ctx, "own-1", 0, -1); !errors.Is(err, httpapi.ErrConflict) {
		t.Errorf("a clock that runs backwards: %v", err)
	}
	must.Do(t, c.Pause(ctx, "own-1", "", 0))
	if _, err := c.NodeClock(ctx, "own-1"); err == nil || !strings.Contains(err.Error(), "it does not answer") {
		t.Errorf("the clock of who stands still: %v", err)
	}
	must.Do(t, c.Resume(ctx, "own-1"))
	must.Do(t, c.Kill(ctx, "own-1"))
	must.Do(t, c.SetClock(ctx, "own-1", time.Hour, 1)) // for its next start
	must.Do(t, c.Restart(ctx, "own-1", true))
	if off := off(); (off - time.Hour).Abs() > near {
		t.Errorf("an hour ahead through a restart, it is off by %v", off)
	}
	must.Do(t, c.Start(ctx, NodeSpec{Name: "plain-1", Role: "plain"}))
	err := c.SetClock(ctx, "plain-1", 0, 1)
	if !errors.Is(err, httpapi.ErrConflict) || !strings.Contains(err.Error(), "was not started with a clock that can be set") {
		t.Errorf("the clock of a server that was not started with one: %v", err)
	}
}
