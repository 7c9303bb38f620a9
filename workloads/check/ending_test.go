package check_test

import (
	"fmt"
	"slices"
	"testing"

	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

// waiting is who still waited for a resource when the time was over.
func waiting(resource string, from int64) []history.Event {
	return []history.Event{{
		Kind: history.KindAcquire, Node: "m1", Client: "w", Resource: resource, FromNS: from * ms, SentNS: from * ms, AtNS: 10_050 * ms, Outcome: "failed", Error: "called-off",
	}}
}

// TestWhoWaitsAtTheEnd: the end of a run hides no outage. Who waited for nobody was not
// served, and a lock that is dead after the heal is not live; who waited for others, or for
// a lease that nobody gave back, is in no figure but his own.
func TestWhoWaitsAtTheEnd(t *testing.T) {
	run := world()
	run.Run.Workload, run.Run.OfferedPS, run.Run.LeaseNS = history.Mutex, 0, 2000*ms
	healed := fault("f1", "kill", 3000, 5000, func(e *history.Event) { e.Nodes = []string{"m3"} })
	x := func(hold string, from, until int64) []history.Event { return gotten("m2", hold, from, from+3, until) }
	for name, c := range map[string]struct {
		last, wait     []history.Event
		calledOff, bad int64
		liveness       string
		open           bool
	}{
		"dead for good soon after the heal": {nil, waiting("r", 5500), 0, 1, check.Dead, true},
		"dead at the end":                   {locking(5500, 8500, 0, 0), waiting("r", 8500), 0, 1, check.Dead, true},
		"one resource of two is dead":       {slices.Concat(locking(5500, 10_000, 0, 0), x("hx", 8000, 8100)), waiting("x", 8000), 0, 1, check.Stalls, true},
		"refused to the end":                {nil, locking(5500, 10_000, 5500, 10_000), 0, 9, check.Dead, true},
		"others were served":                {locking(5500, 10_000, 0, 0), waiting("r", 6000), 1, 0, check.Live, false},
		"somebody held it to the end":       {slices.Concat(locking(5500, 10_000, 0, 0), x("hx", 6000, 10_049)), waiting("x", 6000), 1, 0, check.Live, false},
		"the lease of one who did not release": {
			slices.Concat(locking(5500, 10_000, 0, 0), x("hx", 6000, 9000)[:1], []history.Event{{Kind: history.KindLost, Node: "m2", Hold: "hx", Resource: "x", AtNS: 7900 * ms}}),
			waiting("x", 6000), 1, 0, check.Live, true,
		},
		"for a moment": {locking(5500, 9900, 0, 0), waiting("r", 9900), 1, 0, check.Live, true},
	} {
		t.Run(name, func(t *testing.T) {
			events := slices.Concat([]history.Event{run}, phases(1000, 10_000, 10_100), healed, locking(1000, 5500, 0, 0), c.last, c.wait)
			f := checktest.Events(events, options)
			if f.CalledOff != c.calledOff || f.Counts["called_off"] != c.calledOff || f.Failed != c.bad || f.Liveness != c.liveness || f.Longest.NS > 4500*ms { // of the measured part
				t.Errorf("%d called off, %d failed, %s for %q, stall %d ms; want %d, %d, %s", f.CalledOff, f.Failed, f.Liveness, f.Stuck.Of, f.Longest.NS/ms, c.calledOff, c.bad, c.liveness)
			}
			if f.Longest.Open != c.open {
				t.Errorf("that the longest stall, of %d ms, went on when the measured part ended: %v, want %v", f.Longest.NS/ms, f.Longest.Open, c.open)
			}
		})
	}
}

// TestWaitsFromTheWarmup: who waits through the measured part is in its figures: a closed loop's
// client asks for nothing else meanwhile. Where requests are offered at a rate others stand for it.
func TestWaitsFromTheWarmup(t *testing.T) {
	run := world()
	run.Run.Workload, run.Run.OfferedPS = history.Mutex, 0
	open := world()
	open.Run.Workload, open.Run.OfferedPS = history.Mutex, 10
	asked := func(client string, from, at int64, outcome, err string) []history.Event {
		return []history.Event{{
			Kind: history.KindAcquire, Node: "m2", Client: client, Resource: "r", FromNS: from * ms, SentNS: from * ms, AtNS: at * ms, Outcome: outcome, Error: err,
			Hold: map[string]string{"ok": "h" + client}[outcome],
		}}
	}
	early := asked("early", 500, 9000, "ok", "")
	late := slices.Concat(asked("late", 600, 9100, "failed", "timeout"), asked("before", 600, 990, "failed", "timeout"))
	for name, c := range map[string]struct {
		events          []history.Event
		ok, failed      int64
		latest, acquire int64
	}{
		"served":              {slices.Concat([]history.Event{run}, early), 451, 0, 8500, 8500},
		"failed":              {slices.Concat([]history.Event{run}, late), 450, 1, 0, 0},
		"offered at a rate":   {slices.Concat([]history.Event{open}, early, late), 450, 0, 0, 0},
		"waited to the end":   {slices.Concat([]history.Event{run}, waiting("r", 500)), 450, 0, 9550, 9550},
		"not for long":        {slices.Concat([]history.Event{run}, waiting("r", 10_000-5)), 450, 0, 55, 55},
		"asked after the end": {slices.Concat([]history.Event{run}, asked("over", 10_010, 10_020, "ok", "")), 450, 0, 0, 0},
	} {
		f := checktest.Events(slices.Concat(c.events, phases(1000, 10_000, 10_100), locking(1000, 10_000, 0, 0)), options)
		if f.OK != c.ok || f.Failed != c.failed {
			t.Errorf("%s: %d served and %d failed, want %d and %d", name, f.OK, f.Failed, c.ok, c.failed)
		}
		for what, d := range map[string]check.Dist{"request": f.Latency, "acquire": f.Acquire} {
			want := map[string]int64{"request": c.latest, "acquire": c.acquire}[what]
			if got := d.Quantile(1) / ms; want > 0 && (got < want || got > want+want/100+1) || want == 0 && got > 20 {
				t.Errorf("%s: the longest %s took %d ms, want %d", name, what, got, want)
			}
		}
	}
}

// TestWhoHasASeatWaitsNoMore: a master may need a while to end a try of a player who has been
// answered. Nobody waits for the lock meanwhile, and that it was not granted is no failure.
func TestWhoHasASeatWaitsNoMore(t *testing.T) {
	healed := fault("f1", "kill", 3000, 5000, func(e *history.Event) { e.Nodes = []string{"m3"} })
	held := gotten("m2", "hx", 8000, 8003, 8900)
	try := history.Event{Kind: history.KindAcquire, Node: "m1", Client: "p7", Resource: "x", FromNS: 8500 * ms, SentNS: 8500 * ms, AtNS: 10_400 * ms, Outcome: "unknown", Error: "unknown"}
	for name, c := range map[string]struct {
		answered int64
		outcome  string
		liveness string
		not      int64
	}{
		"seated long before":   {9000, "ok", check.Live, 0},
		"seated when it ended": {10_450, "ok", check.Dead, 1},
		"refused long before":  {9000, "failed", check.Live, 1},
	} {
		seat := history.Event{Kind: history.KindMatch, Node: "m1", Client: "p7", Resource: "x", FromNS: 8490 * ms, SentNS: 8490 * ms, AtNS: c.answered * ms, Outcome: c.outcome}
		f := checktest.Events(slices.Concat([]history.Event{world()}, phases(1000, 10_000, 10_500), healed, work(), held, []history.Event{seat, try}), options)
		if f.Liveness != c.liveness || f.AcquiredNot != c.not {
			t.Errorf("%s: %s for %q, %d not granted; want %s, %d", name, f.Liveness, f.Stuck.Of, f.AcquiredNot, c.liveness, c.not)
		}
	}
}

// TestWhoGotASeatAfterARefusal: what he asked for has come, so the time until another asks is nobody's
// wait. As long as he has none, he waits.
func TestWhoGotASeatAfterARefusal(t *testing.T) {
	healed := fault("f1", "zone-partition", 3000, 5000, cutAC)
	var asked []history.Event
	for n := range int64(12) { // one after the other, each refused at once
		at, player := 5100+200*n, fmt.Sprint("p", 100+n)
		asked = append(asked, history.Event{Kind: history.KindAcquire, Node: "m1", Client: player, Resource: "x", FromNS: at * ms, AtNS: (at + 2) * ms, Outcome: "failed", Error: "unavailable"})
	}
	for name, c := range map[string]struct {
		answered int64 // after the refusal
		outcome  string
		recovery int64
	}{
		"seated at once": {1, "ok", 0},
		"seated late":    {199, "ok", 2500},
		"never seated":   {1, "failed", 2500},
	} {
		var seats []history.Event
		for _, a := range asked {
			seats = append(seats, history.Event{Kind: history.KindMatch, Node: "m1", Client: a.Client, Resource: "x", FromNS: a.FromNS, SentNS: a.FromNS, AtNS: a.AtNS + c.answered*ms, Outcome: c.outcome})
		}
		f := checktest.Events(slices.Concat([]history.Event{world()}, phases(1000, 10_000, 10_500), healed, work(), gotten("m1", "x0", 5000, 5050, 5060), asked, gotten("m1", "x1", 7490, 7500, 7600), seats), options)
		if took := f.RecoveryNS / ms; took < c.recovery || took > c.recovery+60 || f.NotRecovered {
			t.Errorf("%s: recovered after %d ms (never: %v), want %d", name, took, f.NotRecovered, c.recovery)
		}
	}
}
