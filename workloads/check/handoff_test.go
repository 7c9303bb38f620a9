package check_test

import (
	"strings"
	"testing"

	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

func judgeHandoffs(events ...history.Event) *check.Findings {
	run := history.Event{Kind: history.KindRun, Run: &history.Run{Schema: history.Schema, Lock: "redis", Workload: history.Handoff}}
	return checktest.Events(append(append([]history.Event{run}, phases(1, 1000, 1100)...), events...), check.Options{Workloads: []check.Workload{check.Handoff()}})
}

func TestHandoffs(t *testing.T) {
	counted := func(e history.Event, messages, wakeups uint64) history.Event {
		e.Messages, e.Wakeups = messages, wakeups
		return e
	}
	first, released := acquire("m1", "a", "h1", 2, 10, 1), release("m1", "h1", 20, 22)
	for name, c := range map[string]struct {
		events []history.Event
		ms     int64 // of the one handoff; 0 if there is none
	}{
		"to who waited":                 {[]history.Event{first, released, acquire("m2", "b", "h2", 5, 28, 2)}, 8},
		"from when the release is sent": {[]history.Event{first, releasing("m1", "h1", 18), released, acquire("m2", "b", "h2", 5, 28, 2)}, 10},
		"nobody waited":                 {[]history.Event{first, released, acquire("m2", "b", "h2", 21, 28, 2)}, 0},
		"a hold that was lost":          {[]history.Event{first, lost("m1", "h1", 15), released, acquire("m2", "b", "h2", 5, 28, 2)}, 0},
		"no release":                    {[]history.Event{first, killed("m1", 12, 13), acquire("m2", "b", "h2", 5, 28, 2)}, 0},
		"two at once":                   {[]history.Event{first, released, acquire("m2", "b", "h2", 5, 15, 2)}, 0},
		"before it is measured":         {[]history.Event{acquire("m1", "a", "h1", -90, -80, 1), release("m1", "h1", -70, -69), acquire("m2", "b", "h2", -90, 28, 2)}, 0},
	} {
		f := judgeHandoffs(c.events...)
		if got := f.Handoff.Max() / ms; got != c.ms || f.Counts["handoffs"] != f.Handoff.Count() || f.Handoff.Count() > 1 {
			t.Errorf("%s: %d handoffs of %d ms, want %d", name, f.Handoff.Count(), got, c.ms)
		}
		if v := check.Judge(f, history.Expect{}); (c.ms == 0) != (v.Status == check.Inconclusive && (strings.Contains(v.Why, "no handoff was measured") || name == "before it is measured")) {
			t.Errorf("%s: %s: %s", name, v.Status, v.Why)
		}
	}
	barged := judgeHandoffs(
		first, released, // b waits
		acquire("m1", "a", "h2", 23, 25, 2), release("m1", "h2", 30, 31),
		acquire("m1", "a", "h3", 32, 33, 3), release("m1", "h3", 40, 41),
		acquire("m2", "b", "h4", 5, 48, 4), release("m2", "h4", 50, 51),
	)
	if barged.Handoff.Count() != 1 || barged.Handoff.Max()/ms != 28 || barged.Counts["barged"] != 2 {
		t.Errorf("%d handoffs of %d ms, %d barged in", barged.Handoff.Count(), barged.Handoff.Max()/ms, barged.Counts["barged"])
	}
	gaveUp := acquire("m2", "b", "", 5, 26, 0)
	gaveUp.Outcome, gaveUp.Error = "failed", "timeout"
	after := judgeHandoffs( // of the release that b waited for, nobody is left; c waits for the next one
		first, released, gaveUp,
		acquire("m1", "a", "h2", 23, 25, 2), acquire("m2", "c", "h3", 29, 48, 3), release("m1", "h2", 30, 31),
	)
	if after.Handoff.Count() != 1 || after.Handoff.Max()/ms != 18 || after.Counts["barged"] != 1 {
		t.Errorf("%d handoffs of %d ms, %d barged in", after.Handoff.Count(), after.Handoff.Max()/ms, after.Counts["barged"])
	}
	f := judgeHandoffs(
		counted(first, 10, 4), released,
		counted(acquire("m2", "b", "h2", 5, 28, 2), 100, 50), release("m2", "h2", 30, 31),
		counted(acquire("m1", "a", "h3", 25, 40, 3), 18, 7), release("m1", "h3", 50, 51),
		counted(acquire("m2", "b", "h4", 33, 60, 4), 2, 1), release("m2", "h4", 70, 71), // m2 was started anew
	)
	wakeups, _ := f.PerHandoff(f.Wakeups)
	messages, _ := f.PerHandoff(f.MessagesSent)
	if f.Handoff.Count() != 3 || wakeups != 4./3 || messages != 10./3 {
		t.Errorf("%d handoffs, %v wake-ups, %v messages each", f.Handoff.Count(), wakeups, messages)
	}
	if f := judgeHandoffs(first, released); f.HasWakeups {
		t.Error("a lock that counts no wake-ups has a figure")
	}
}
