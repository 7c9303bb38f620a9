package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/internal/sentence"
	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

func match(from, at int64, outcome, kind string) history.Event {
	return history.Event{Kind: history.KindMatch, FromNS: from * ms, SentNS: from*ms + 1000, AtNS: at * ms, Outcome: outcome, Error: kind, Resource: "g"}
}

// raced are two rooms that were ordered at the same time.
func raced() []history.Event {
	a := ordered{room: "A", worker: "w1", master: "m1", hold: "x1", from: 2000, start: 2010, open: 2060, answered: 2070}
	b := ordered{room: "B", worker: "w2", master: "m2", hold: "x2", from: 2005, start: 2020, open: 2065, answered: 2071}
	return append(a.events(), b.events()...)
}

// work is what players and masters do in a run in which nothing is wrong.
func work() []history.Event {
	return append(players(1000, 10_000, 0, 0), locking(1000, 10_000, 0, 0)...)
}

// players is one match every 10 ms; those due within [down, up) fail.
func players(from, to, down, up int64) []history.Event {
	var list []history.Event
	for at := from; at < to; at += 10 {
		outcome, kind := "ok", ""
		if at >= down && at < up {
			outcome, kind = "failed", "unavailable"
		}
		list = append(list, match(at, at+5, outcome, kind))
	}
	return list
}

// locking is one acquisition every 20 ms by m1 and m2 in turn, except within
// [down, up), where everybody waits and gives up after 500 ms.
func locking(from, to, down, up int64) []history.Event {
	var list []history.Event
	for n, at := 0, from; at < to; n, at = n+1, at+20 {
		master, hold := fmt.Sprint("m", n%2+1), fmt.Sprint("h", at)
		if at >= down && at < up {
			if n%25 == 0 {
				list = append(list, history.Event{Kind: history.KindAcquire, Node: master, Resource: "r", FromNS: at * ms, AtNS: (at + 500) * ms, Outcome: "failed", Error: "timeout"})
			}
			continue
		}
		list = append(list, acquire(master, master, hold, at, at+3, 0), release(master, hold, at+5, at+6))
	}
	return list
}

func judged(t *testing.T, want history.Expect, lists ...[]history.Event) (check.Verdict, *check.Findings) {
	t.Helper()
	events := []history.Event{world()}
	for _, l := range lists {
		events = append(events, l...)
	}
	f := checktest.Events(events, options)
	return check.Judge(f, want), f
}

func TestVerdicts(t *testing.T) {
	calm := phases(1000, 10_000, 10_100)
	partition := fault("f1", "zone-partition", 3000, 8000, cutAC)
	twice := raced()
	overlapping := []history.Event{
		acquire("m1", "a", "x1", 2000, 2010, 0), release("m1", "x1", 2030, 2031), acquire("m2", "b", "x2", 2005, 2020, 0), release("m2", "x2", 2040, 2041),
	}
	stuck := []history.Event{
		acquire("m1", "a", "x1", 2000, 2010, 7), release("m1", "x1", 2030, 2031), acquire("m2", "b", "x2", 2035, 2040, 7), release("m2", "x2", 2050, 2051),
	}
	outage := append(players(1000, 10_000, 3000, 8000), locking(1000, 10_000, 3000, 8000)...)
	hit := append([]history.Event{acquire("m9", "a", "h9", 2900, 2910, 0), killed("m9", 3001, 3002)}, aimed("kill")...)
	for i := range hit {
		if hit[i].Kind == history.KindFault {
			hit[i].Target, hit[i].Nodes = "holder (m9)", []string{"m9"}
		}
	}
	hit[0].Resource = "x"
	for _, list := range [][]history.Event{overlapping, stuck} {
		for i := range list {
			list[i].Resource = "x" // nobody else's
		}
	}
	unproven := partition[:1]
	fine := work()
	down := append(players(1000, 10_000, 3500, 8000), locking(1000, 10_000, 3500, 8000)...)
	blip := fault("f1", "zone-partition", 3000, 4200, cutAC)
	brief := append(players(1000, 10_000, 3000, 4200), locking(1000, 10_000, 3000, 4200)...)
	stalls := append(players(1000, 10_000, 3500, 5500), locking(1000, 10_000, 3500, 5500)...)
	idle := slices.Concat(players(1000, 10_000, 0, 0), locking(1000, 2900, 0, 0), locking(8100, 10_000, 0, 0))
	var losses []history.Event // 5 of the 450 holds
	for n := range 5 {
		at := int64(2000 + 20*n)
		losses = append(losses, history.Event{Kind: history.KindLost, Node: fmt.Sprint("m", n%2+1), Hold: fmt.Sprint("h", at), Resource: "r", AtNS: (at + 4) * ms})
	}
	late := match(2000, 2001, "failed", "not-sent")
	late.Count = 500

	for _, c := range []struct {
		name     string
		lists    [][]history.Event
		want     history.Expect
		status   check.Status
		liveness string
		why      string
	}{
		{"calm and safe", [][]history.Event{calm, fine}, history.Expect{Safety: check.Safe, Liveness: []string{check.Live}}, check.Expected, check.Live, "No violation"},
		{"safe, but it raced", [][]history.Event{calm, fine, twice}, history.Expect{Safety: check.Safe}, check.Violated, check.Live, "1 raced"},
		{"control fires", [][]history.Event{calm, fine, twice}, history.Expect{Safety: check.Unsafe}, check.Expected, check.Live, "as expected"},
		{"control is silent", [][]history.Event{calm, fine}, history.Expect{Safety: check.Unsafe}, check.ControlSilent, check.Live, "no violation was seen"},
		{"nothing expected", [][]history.Event{calm, fine, twice}, history.Expect{}, check.NotJudged, check.Live, "expects nothing"},
		{"nothing expected, nothing proven", [][]history.Event{calm, fine, unproven}, history.Expect{}, check.Inconclusive, check.Live, "f1"},
		{"down as expected", [][]history.Event{calm, down, partition}, history.Expect{Safety: check.Safe, Liveness: []string{check.Down}}, check.Expected, check.Down, "was down"},
		{"down, but live was expected", [][]history.Event{calm, down, partition}, history.Expect{Liveness: []string{check.Live, check.Stalls}}, check.Violated, check.Down, "live or stalls"},
		{"down for a short fault", [][]history.Event{calm, brief, blip}, history.Expect{Safety: check.Safe, Liveness: []string{check.Live, check.Stalls}}, check.Expected, check.Down, "too short"},
		{"down for a short fault, but live was expected", [][]history.Event{calm, brief, blip}, history.Expect{Liveness: []string{check.Live}}, check.Violated, check.Down, "Expected live"},
		{"down for no longer than the lease of a holder that was hit", [][]history.Event{calm, outage, {leasedRun(4500)}, hit}, history.Expect{Safety: check.Safe, Liveness: []string{check.Live, check.Stalls}}, check.Expected, check.Down, "too short"},
		{"down for longer than the lease of a holder that was hit", [][]history.Event{calm, outage, {leasedRun(4490)}, hit}, history.Expect{Safety: check.Safe, Liveness: []string{check.Live, check.Stalls}}, check.Violated, check.Down, "Expected live or stalls"},
		{"stalls", [][]history.Event{calm, stalls, partition}, history.Expect{Liveness: []string{check.Stalls}}, check.Expected, check.Stalls, "stalled"},
		{"live, but down was expected", [][]history.Event{calm, fine, partition}, history.Expect{Liveness: []string{check.Down}}, check.Violated, check.Live, "Expected down"},
		{"fault not proven", [][]history.Event{calm, fine, unproven}, history.Expect{Safety: check.Safe}, check.Inconclusive, check.Live, "f1"},
		{"fault not proven, control fires", [][]history.Event{calm, fine, twice, unproven}, history.Expect{Safety: check.Unsafe}, check.Inconclusive, check.Live, "f1"},
		{"fault not proven, but violated", [][]history.Event{calm, fine, twice, unproven}, history.Expect{Safety: check.Safe}, check.Violated, check.Live, "raced"},
		{"violated after a fault that was not proven", [][]history.Event{calm, fine, twice, fault("f1", "zone-partition", 2000, 8005, cutAC)[:1]}, history.Expect{Safety: check.Safe}, check.Inconclusive, check.Live, "1 raced"},
		{"holds of masters overlapped, and made no room too many", [][]history.Event{calm, fine, overlapping}, history.Expect{Safety: check.Safe}, check.Violated, check.Live, "1 overlapping hold"},
		{"a token of masters did not grow", [][]history.Event{calm, fine, stuck}, history.Expect{Safety: check.Safe}, check.Violated, check.Live, "1 fencing token"},
		{"the generator fell behind", [][]history.Event{calm, fine, {late}}, history.Expect{Safety: check.Safe}, check.Inconclusive, check.Live, "generator sent"},
		{"behind, but violated", [][]history.Event{calm, fine, twice, {late}}, history.Expect{Safety: check.Safe}, check.Violated, check.Live, "raced"},
		{"interrupted", [][]history.Event{calm[:2], fine}, history.Expect{Safety: check.Safe}, check.Inconclusive, check.Live, "interrupted"},
		{"nothing measured", [][]history.Event{calm}, history.Expect{Safety: check.Safe}, check.Inconclusive, check.Live, "No operation"},
		{"nobody asked for the lock", [][]history.Event{calm, players(1000, 10_000, 0, 0), partition}, history.Expect{Liveness: []string{check.Down}}, check.Inconclusive, check.Live, "Too few asked"},
		{"nobody asked for the lock during the fault", [][]history.Event{calm, idle, partition}, history.Expect{Safety: check.Safe, Liveness: []string{check.Live}}, check.Inconclusive, check.Live, "Too few asked"},
		{"nothing is expected that could be otherwise", [][]history.Event{calm, players(1000, 10_000, 3000, 6000), locking(1000, 10_000, 0, 0), partition}, history.Expect{Liveness: []string{check.Live, check.Stalls, check.Down}}, check.NotJudged, check.Live, "The scenario expects nothing of this lock"},
		{"nobody asked, and its liveness is not judged", [][]history.Event{calm, idle, partition}, history.Expect{Safety: check.Safe}, check.Expected, check.LivenessNotJudged, "No violation, but too few asked for the lock while the fault lasted."},
		{"live but for the heal", [][]history.Event{calm, players(1000, 10_000, 0, 0), locking(1000, 10_000, 4400, 6000), blip}, history.Expect{Liveness: []string{check.Live}}, check.Expected, check.Live, "as a fault began or ended"},
		{"holds are lost at once", [][]history.Event{calm, fine, losses}, history.Expect{Safety: check.Safe, Availability: history.Availability{Outside: 0.99}}, check.Violated, check.Live, "of the holds last until their release, or for half of their lease, but of 450 only 98.9 % did"},
		{"holds are lost at once during a fault", [][]history.Event{calm, fine, losses, partition}, history.Expect{Safety: check.Safe, Availability: history.Availability{Outside: 0.99}}, check.Expected, check.Live, "No violation"},
		{"holds are lost after their lease", [][]history.Event{calm, fine, losses, {leasedRun(5)}}, history.Expect{Safety: check.Safe, Availability: history.Availability{Outside: 0.99}}, check.Expected, check.Live, "No violation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, f := judged(t, c.want, c.lists...)
			if v.Status != c.status || v.Liveness != c.liveness || !strings.Contains(v.Why, c.why) {
				t.Errorf("got %+v, want %s, %s, %q\n%+v", v, c.status, c.liveness, c.why, f)
			}
		})
	}
}

// TestWhatIsNotJudgedIsNotSafe: the verdict and its sentence claim only what the
// scenario judges.
func TestWhatIsNotJudgedIsNotSafe(t *testing.T) {
	calm := phases(1000, 10_000, 10_100)
	fine := work()
	twice := raced()
	live := []string{check.Live}
	for _, c := range []struct {
		name   string
		rooms  []history.Event
		want   history.Expect
		status check.Status
		safety string
		why    string
	}{
		{"nothing", nil, history.Expect{}, check.NotJudged, check.SafetyNotJudged, "The scenario expects nothing of this lock: no violation was seen, and it stayed live."},
		{"nothing, unsafe", twice, history.Expect{}, check.NotJudged, check.Unsafe, "The scenario expects nothing of this lock: 1 duplicate (1 raced, 0 overlooked), and it stayed live."},
		{"liveness only", nil, history.Expect{Liveness: live}, check.Expected, check.SafetyNotJudged, "No violation was seen, and it stayed live. Its safety was not judged."},
		{"liveness only, unsafe", twice, history.Expect{Liveness: live}, check.Expected, check.Unsafe, "1 duplicate (1 raced, 0 overlooked), and it stayed live. Nothing was expected of its safety."},
		{"safety only", nil, history.Expect{Safety: check.Safe}, check.Expected, check.Safe, "No violation, and it stayed live. Its liveness was not judged."},
		{"both", nil, history.Expect{Safety: check.Safe, Liveness: live}, check.Expected, check.Safe, "No violation, and it stayed live."},
	} {
		if v, _ := judged(t, c.want, calm, fine, c.rooms); v.Status != c.status || v.Safety != c.safety || v.Why != c.why {
			t.Errorf("%s: %s, %s: %s\nwant %s, %s: %s", c.name, v.Status, v.Safety, v.Why, c.status, c.safety, c.why)
		}
	}
}

// TestServedTooLittle: a lock that serves less than a scenario expects of it, where nothing
// is broken or while something is, is violated although it is safe and live.
func TestServedTooLittle(t *testing.T) {
	calm := phases(1000, 10_000, 10_100)
	partition := fault("f1", "zone-partition", 3000, 6000, cutAC)
	blip := fault("f1", "zone-partition", 3000, 4000, cutAC)
	locks := locking(1000, 10_000, 0, 0)
	served := func(outside, during float64) history.Expect {
		return history.Expect{
			Safety: check.Safe, Liveness: []string{check.Live},
			Availability: history.Availability{Outside: outside, During: during},
		}
	}
	slow := players(1000, 10_000, 0, 0)
	for i := range slow { // was due before the fault, and failed because of it
		if at := slow[i].FromNS / ms; at >= 2500 && at < 3000 {
			slow[i].AtNS, slow[i].Outcome = 3500*ms, "failed"
		}
	}
	for _, c := range []struct {
		name   string
		lists  [][]history.Event
		want   history.Expect
		status check.Status
		why    string
	}{
		{"all", [][]history.Event{players(1000, 10_000, 0, 0)}, served(0.99, 0.5), check.Expected, "No violation"},
		{"70 % of baseline", [][]history.Event{players(1000, 10_000, 2000, 4700)}, served(0.99, 0), check.Violated, "at least 99 % of the operations that no fault touched end ok, but of 900 only 70.0 % did"},
		{"70 %, and 60 % expected", [][]history.Event{players(1000, 10_000, 2000, 4700)}, served(0.6, 0), check.Expected, "No violation"},
		{"three failures", [][]history.Event{players(9700, 10_000, 9700, 9730)}, served(0.99, 0), check.Expected, "No violation"},
		{"none during a fault", [][]history.Event{players(1000, 10_000, 3000, 6000), partition}, served(0.99, 0.5), check.Violated, "at least 50 % of the operations that a fault touched end ok"},
		{"none during a fault, and none expected", [][]history.Event{players(1000, 10_000, 3000, 6000), partition}, served(0.99, 0), check.Expected, "No violation"},
		{"none during a short fault", [][]history.Event{players(1000, 10_000, 3000, 4900), blip}, served(0.99, 0.5), check.Expected, "That 5.0 % of the operations that a fault touched ended ok was not judged: it lasted 990 ms, less than the 1.5 s that"},
		{"none for a second after a fault", [][]history.Event{players(1000, 10_000, 6000, 6900), partition}, served(0.99, 0.5), check.Expected, "No violation"},
		{"none for two seconds after a fault", [][]history.Event{players(1000, 10_000, 6000, 8000), partition}, served(0.99, 0.5), check.Violated, "that no fault touched"},
		{"waiting when the fault came", [][]history.Event{slow, partition}, served(0.99, 0.5), check.Expected, "No violation"},
	} {
		v, f := judged(t, c.want, append(c.lists, calm, locks)...)
		if v.Status != c.status || !strings.Contains(v.Why, c.why) {
			t.Errorf("%s: %s: %s; outside %+v, during %+v", c.name, v.Status, v.Why, f.Outside, f.During)
		}
		if twice := check.Merge(f, f); twice.Outside.All != 2*f.Outside.All || twice.During.OK != 2*f.During.OK {
			t.Errorf("%s: two repeats have %+v and %+v", c.name, twice.Outside, twice.During)
		}
	}
}

// TestWhatADeadHolderLeft: who asks for what a killed holder had waits for its lease, for which
// the lock is not to blame; for more than that, or where nobody held it, it is.
func TestWhatADeadHolderLeft(t *testing.T) {
	kill := fault("f1", "kill", 3000, 5000, func(e *history.Event) { e.Nodes = []string{"m1"} })
	for _, c := range []struct {
		name           string
		lease, granted int64
		held           string
		lost           []history.Event
		status         check.Status
	}{
		{"until its lease is over", 3000, 8300, "g", nil, check.Expected},
		{"longer than its lease", 1000, 8300, "g", nil, check.Violated},
		{"although it was granted before", 3000, 6600, "g", nil, check.Violated},
		{"although it held something else", 3000, 8300, "r", nil, check.Violated},
		{"although it had lost it before", 3000, 8300, "g", []history.Event{lost("m1", "h1", 2995)}, check.Violated},
	} {
		of := func(resource string, e history.Event) history.Event {
			e.Resource = resource
			return e
		}
		events := append([]history.Event{
			leasedRun(c.lease), of(c.held, acquire("m1", "m1", "h1", 2985, 2990, 0)), killed("m1", 3004, 3006),
			node("m1", "started", 5000), of("g", acquire("m2", "m2", "h2", 2000, 2003, 0)), of("g", release("m2", "h2", 2004, 2005)),
			of("g", acquire("m2", "m2", "h3", c.granted-5, c.granted, 0)), of("g", release("m2", "h3", c.granted+1, c.granted+2)),
		}, players(1000, 10_000, 3000, 8300)...)
		for _, e := range c.lost {
			events = append(events, of(c.held, e))
		}
		events = append(append(events, kill...), phases(1000, 10_000, 10_100)...)
		f := checktest.Events(events, options)
		if v := check.Judge(f, history.Expect{Availability: history.Availability{Outside: 0.99}}); v.Status != c.status {
			t.Errorf("%s: %s: %s; outside %+v, during %+v", c.name, v.Status, v.Why, f.Outside, f.During)
		}
	}
}

// TestWhatNobodyKnows: an acquisition or a release that was under way while a fault was in force, and
// of which nobody knows what became, may have left the resource to nobody, until its lease is over.
func TestWhatNobodyKnows(t *testing.T) {
	cut := fault("f1", "partition", 3000, 5000, cutAC)
	for _, c := range []struct {
		name           string
		lease, granted int64
		outcome        string
		asked, until   int64 // the acquisition's
		release        string
		status         check.Status
	}{
		{"an acquisition, until its lease is over", 3000, 8300, "unknown", 2985, 3990, "", check.Expected},
		{"longer than its lease", 1000, 8300, "unknown", 2985, 3990, "", check.Violated},
		{"although it was granted before", 3000, 6600, "unknown", 2985, 3990, "", check.Violated},
		{"one that failed for sure", 3000, 8300, "failed", 2985, 3990, "", check.Violated},
		{"one that ended before the fault", 3000, 8300, "unknown", 1985, 2990, "", check.Violated},
		{"a release, until its lease is over", 3000, 8300, "ok", 2985, 2990, "unknown", check.Expected},
		{"a release that was answered", 3000, 8300, "ok", 2985, 2990, "ok", check.Violated},
	} {
		of := func(e history.Event) history.Event {
			e.Resource = "g"
			return e
		}
		asked := of(acquire("m1", "m1", "h1", c.asked, c.until, 0))
		if asked.Outcome = c.outcome; c.outcome != "ok" {
			asked.Hold = ""
		}
		events := append([]history.Event{
			leasedRun(c.lease), of(acquire("m2", "m2", "h2", 2000, 2003, 0)), of(release("m2", "h2", 2004, 2005)), asked,
			of(acquire("m2", "m2", "h3", c.granted-5, c.granted, 0)), of(release("m2", "h3", c.granted+1, c.granted+2)),
		}, players(1000, 10_000, 3000, 8300)...)
		if c.release != "" {
			released := of(release("m1", "h1", 3010, 4000))
			released.Outcome = c.release
			events = append(events, released)
		}
		events = append(append(events, cut...), phases(1000, 10_000, 10_100)...)
		f := checktest.Events(events, options)
		if v := check.Judge(f, history.Expect{Availability: history.Availability{Outside: 0.99}}); v.Status != c.status {
			t.Errorf("%s: %s: %s; outside %+v, during %+v", c.name, v.Status, v.Why, f.Outside, f.During)
		}
	}
}

// TestNoFaultTouchesWhatWasBefore: an acquisition that was asked for long before a fault, and of which nobody
// knows what became because of it, left the resource to nobody since the fault, and not since it was asked for.
func TestNoFaultTouchesWhatWasBefore(t *testing.T) {
	asked := acquire("m1", "m1", "", 1990, 3990, 0)
	asked.Resource, asked.Outcome = "g", "unknown"
	events := append([]history.Event{leasedRun(3000), asked}, players(1000, 10_000, 2000, 2800)...)
	events = append(append(events, fault("f1", "partition", 3000, 5000, cutAC)...), phases(1000, 10_000, 10_100)...)
	f := checktest.Events(events, options)
	if failed := f.Outside.All - f.Outside.OK; failed != 80 || f.During.All != f.During.OK {
		t.Errorf("%d of 80 that failed before the fault count as touched by none, %d as touched", failed, f.During.All-f.During.OK)
	}
}

// TestDownOrLeased: a lock that is without a grant throughout a fault is down, unless the fault may have
// left to nobody all that is still wanted, and is over before a lease is.
func TestDownOrLeased(t *testing.T) {
	cut := fault("f1", "partition", 3000, 6000, cutAC)
	at := func(e history.Event, resource string) history.Event {
		e.Resource = resource
		return e
	}
	kept := at(acquire("m2", "c", "h9", 2990, 2995, 0), "g")
	unheard, late, gone := at(release("m2", "h9", 3010, 3500), "g"), at(release("m2", "h9", 3010, 6010), "g"), at(release("m2", "h9", 3010, 3020), "g")
	unheard.Outcome, unheard.Error = "unknown", "unknown"
	wait := func(node, client string, from, until int64, outcome string) history.Event {
		e := at(acquire(node, client, "", from, until, 0), "g")
		e.Outcome, e.Error = outcome, "timeout"
		return e
	}
	another := at(acquire("m1", "b", "", 4500, 5900, 0), "x")
	another.Outcome, another.Error = "failed", "timeout"
	for _, c := range []struct {
		name   string
		lease  int64
		events []history.Event
		status check.Status
	}{
		{"given back", 3000, []history.Event{kept, gone}, check.Violated},
		{"nobody knows whether it was given back", 3000, []history.Event{kept, unheard}, check.Expected},
		{"that was answered when the fault was over", 3000, []history.Event{kept, late}, check.Expected},
		{"longer than its lease, but who was elected counts that anew", 2000, []history.Event{kept, unheard}, check.Expected},
		{"no lease", 0, []history.Event{kept, unheard}, check.Violated},
		{"another one is wanted, too", 3000, []history.Event{kept, unheard, another}, check.Violated},
		{"who asked before never heard of it", 3000, []history.Event{kept, gone, wait("m2", "d", 2992, 5500, "unknown")}, check.Expected},
		{"who asked before heard of it afterwards", 3000, []history.Event{kept, gone, wait("m2", "d", 2992, 6005, "ok")}, check.Expected},
		{"who asked before was refused for sure", 3000, []history.Event{kept, gone, wait("m2", "d", 2992, 6005, "failed")}, check.Violated},
		{"who asked later heard of it afterwards", 3000, []history.Event{kept, gone, wait("m2", "d", 4500, 6005, "ok")}, check.Violated},
	} {
		events := slices.Concat([]history.Event{leasedRun(c.lease)}, c.events, players(1000, 10_000, 0, 0), cut, phases(1000, 10_000, 10_100))
		for from := int64(3400); from < 6000; from += 400 { // those who are not cut off
			events = append(events, wait("m1", "a", from, from+390, "failed"))
		}
		for from := int64(6010); from < 10_000; from += 20 {
			id := fmt.Sprint("k", from)
			events = append(events, at(acquire("m1", "a", id, from, from+2, 0), "g"), at(release("m1", id, from+4, from+5), "g"))
		}
		f := checktest.Events(events, options)
		if v := check.Judge(f, history.Expect{Safety: check.Safe, Liveness: []string{check.Live, check.Stalls}}); v.Status != c.status || f.Liveness != check.Down {
			t.Errorf("%s: %s, %s: %s", c.name, v.Status, f.Liveness, v.Why)
		}
	}
}

// TestDownUntilItHadEnded: a fault lasts until it has ended, not until its heal was asked for. A
// lock that nobody gets until then was down for all of that.
func TestDownUntilItHadEnded(t *testing.T) {
	for back, want := range map[int64]check.Status{4450: check.Expected, 8000: check.Violated} {
		slow := fault("f1", "full-disk", 3000, 9000, func(*history.Event) {})
		slow[2].AtNS = 4400 * ms // heal-asked
		events := slices.Concat([]history.Event{leasedRun(3000)}, players(1000, 10_000, 0, 0), slow, phases(1000, 10_000, 10_100))
		for from := int64(1000); from < 10_000; from += 100 {
			e := acquire("m1", "a", fmt.Sprint("k", from), from, from+2, 0)
			if from >= 2990 && from < back {
				e = acquire("m1", "a", "", from, from+95, 0)
				e.Outcome, e.Error = "failed", "timeout"
				events = append(events, e)
				continue
			}
			events = append(events, e, release("m1", e.Hold, from+4, from+5))
		}
		f := checktest.Events(events, options)
		v := check.Judge(f, history.Expect{Liveness: []string{check.Live, check.Stalls}})
		if v.Status != want || f.Liveness != check.Down || strings.Contains(v.Why, "too short") != (want == check.Expected) {
			t.Errorf("granted again at %d ms: %s, %s, want %s: %s", back, v.Status, f.Liveness, want, v.Why)
		}
	}
}

// TestInForce: what failed while a fault lasted is not shared out over the time in which the
// lock may recover from it.
func TestInForce(t *testing.T) {
	_, f := judged(t, history.Expect{Safety: check.Safe}, players(1000, 10_000, 3000, 6000), fault("f1", "zone-partition", 3000, 6000, cutAC),
		phases(1000, 10_000, 10_100), locking(1000, 10_000, 0, 0))
	if f.InForce.Share() > 0.01 || f.InForce.All < 299 || f.InForce.All > 301 {
		t.Errorf("%d of %d ended ok while the fault lasted: want none of 300", f.InForce.OK, f.InForce.All)
	}
	if f.During.Share() < 0.2 || f.During.All != f.InForce.All+100 {
		t.Errorf("%d of %d ended ok until a second later: want about 100 of 400", f.During.OK, f.During.All)
	}
	_, f = judged(t, history.Expect{Safety: check.Safe}, players(1000, 10_000, 3000, 6000), phases(1000, 10_000, 10_100), locking(1000, 10_000, 0, 0))
	if f.InForce.All != 0 {
		t.Errorf("%d operations were under way during a fault that never was", f.InForce.All)
	}
}

// TestAQuantileIsReached: no more than one value in 100 lies above a p99.
func TestAQuantileIsReached(t *testing.T) {
	slow := players(1000, 4600, 0, 0) // 360 of them: the nearest rank to 99 % is the one before
	n := 0
	for i := range slow {
		slow[i].AtNS = slow[i].FromNS + 2*ms
		if n++; n > 356 {
			slow[i].AtNS = slow[i].FromNS + 200*ms
		}
	}
	_, f := judged(t, history.Expect{Safety: check.Safe}, slow, phases(1000, 10_000, 10_100), locking(1000, 10_000, 0, 0))
	if p99 := time.Duration(f.Latency.Quantile(0.99)); f.OK != 360 || p99 < 199*time.Millisecond {
		t.Errorf("p99 of %d, of which four took 200 ms: %v", f.OK, p99)
	}
}

// TestLimitsFollowTheRoundTrips: where ten round trips take longer than a second, a stall is longer
// too, and so is the time after a fault in which the lock may go on.
func TestLimitsFollowTheRoundTrips(t *testing.T) {
	brief := fault("f1", "zone-partition", 3000, 5500, cutAC)
	for name, c := range map[string]struct {
		second   int64
		faults   []history.Event
		down, up int64
		want     string
	}{
		"2.4 s, and a second is one":            {0, nil, 5000, 7400, check.Stalls},
		"2.4 s, and a second is 2.6 s":          {2600, nil, 5000, 7400, check.Live},
		"2.8 s, and a second is 2.6 s":          {2600, nil, 5000, 7800, check.Stalls},
		"a fault of 2.5 s to its end":           {0, brief, 3100, 5600, check.Down},
		"the same, too short to tell down":      {2600, brief, 3100, 5800, check.Stalls},
		"3 s after a fault began, 1.2 s beyond": {2600, brief, 4300, 6800, check.Live},
	} {
		run := world()
		run.Run.SecondNS = c.second * ms
		f := checktest.Events(slices.Concat([]history.Event{run}, phases(1000, 10_000, 10_100), c.faults, players(1000, 10_000, 0, 0),
			locking(1000, c.down, 0, 0), asks("g", "m1", "timeout", c.down, c.up, 100), locking(c.up, 10_000, 0, 0)), options)
		if f.Liveness != c.want {
			t.Errorf("%s: %s, stall %v; want %s", name, f.Liveness, time.Duration(f.Longest.NS), c.want)
		}
	}
}

// TestAShortRun: faults are short in a short run, and so are the stalls that count in them; what
// nothing disturbs need not be faster.
func TestAShortRun(t *testing.T) {
	cut := fault("f1", "zone-partition", 1500, 2100, cutAC)
	for name, c := range map[string]struct {
		faults   []history.Event
		down, up int64
		want     string
	}{
		"400 ms without a fault":             {nil, 1500, 1900, check.Live},
		"700 ms without a fault":             {nil, 1500, 2200, check.Stalls},
		"400 ms of a fault":                  {cut, 1600, 2000, check.Stalls},
		"400 ms before a fault":              {cut, 1050, 1450, check.Live},
		"the second half, without any fault": {nil, 1900, 3000, check.Down},
	} {
		run := world()
		run.Run.DurationNS = 2000 * ms
		f := checktest.Events(slices.Concat([]history.Event{run}, phases(1000, 3000, 3100), c.faults, players(1000, 3000, 0, 0),
			locking(1000, c.down, 0, 0), refusals("g", "unavailable", c.down, c.up, 20), locking(c.up, 3000, 0, 0)), options)
		if f.Liveness != c.want {
			t.Errorf("%s: %s, stall %v; want %s", name, f.Liveness, time.Duration(f.Longest.NS), c.want)
		}
	}
}

func TestLivenessAndRecovery(t *testing.T) {
	calm := phases(1000, 10_000, 10_100)
	partition := fault("f1", "zone-partition", 3000, 8005, cutAC) // heal asked for at 8000
	restart := fault("f1", "restart", 3000, 8000, func(e *history.Event) {
		if e.State == "heal-asked" {
			e.AtNS = 3005*ms + 8000 // right after it began
		}
	})
	gone := fault("f1", "zone-failure", 3000, 8000, func(e *history.Event) { e.Nodes = []string{"w9"} })
	gone[len(gone)-1].State = "away"
	for _, c := range []struct {
		name     string
		lists    [][]history.Event
		liveness string
		stall    [2]int64 // ms, inclusive
		recovery [2]int64
		never    bool
	}{
		{"no fault", [][]history.Event{calm, work()}, check.Live, [2]int64{0, 10}, [2]int64{-1, -1}, false},
		{"undisturbed", [][]history.Event{calm, partition, work()}, check.Live, [2]int64{0, 10}, [2]int64{0, 10}, false},
		{"down until 300 ms after the heal", [][]history.Event{calm, partition, players(1000, 10_000, 3100, 8300), locking(1000, 10_000, 3100, 8300)}, check.Down, [2]int64{4500, 5000}, [2]int64{250, 320}, false},
		{"down, and not wanted any more for a second", [][]history.Event{calm, partition, players(1000, 10_000, 0, 0), locking(1000, 3100, 0, 0), asks("g", "m1", "timeout", 3100, 6500, 100), locking(8300, 10_000, 0, 0)}, check.Stalls, [2]int64{3350, 3450}, [2]int64{0, 10}, false},
		{"held into the fault, and missing beyond it", [][]history.Event{
			calm, partition, players(1000, 10_000, 0, 0), locking(1000, 3000, 0, 0),
			{acquire("m1", "m1", "r0", 2999, 3002, 0), release("m1", "r0", 5000, 5001)},
			gotten("m2", "x0", 2990, 3001, 5000),
			asks("r", "m2", "timeout", 3100, 8500, 100), asks("x", "m2", "timeout", 3100, 8500, 100), gotten("m2", "x1", 8400, 8500, 8510), locking(8500, 10_000, 0, 0),
		}, check.Down, [2]int64{5350, 5450}, [2]int64{490, 510}, false},
		{"down until the restart is over", [][]history.Event{calm, restart, players(1000, 10_000, 3100, 8300), locking(1000, 10_000, 3100, 8300)}, check.Down, [2]int64{4500, 5000}, [2]int64{5200, 5400}, false},
		{"without a grant while it restarts, and all is held", [][]history.Event{
			calm, restart, players(1000, 10_000, 0, 0), locking(1000, 3000, 0, 0),
			{acquire("m1", "m1", "r0", 2999, 3002, 0), release("m1", "r0", 4200, 4201)},
			gotten("m2", "x0", 2990, 3001, 4200),
			asks("r", "m2", "timeout", 3050, 4300, 50), asks("x", "m1", "timeout", 3050, 4300, 50), gotten("m1", "x1", 4250, 4300, 4310), locking(4320, 10_000, 0, 0),
		}, check.Stalls, [2]int64{1200, 1300}, [2]int64{1280, 1300}, false},
		{"a short fault, and 1.2 s of waiting", [][]history.Event{calm, fault("f1", "zone-partition", 3000, 3200, cutAC), players(1000, 10_000, 3100, 4700), locking(1000, 10_000, 3100, 4700)}, check.Stalls, [2]int64{1150, 1250}, [2]int64{1450, 1550}, false},
		{"a short fault, and 0.2 s of waiting", [][]history.Event{calm, fault("f1", "zone-partition", 3000, 3200, cutAC), players(1000, 10_000, 3100, 3700), locking(1000, 10_000, 3100, 3700)}, check.Live, [2]int64{150, 250}, [2]int64{450, 550}, false},
		{"a stall before the fault", [][]history.Event{calm, partition, players(1000, 10_000, 0, 0), locking(1000, 10_000, 1100, 2900)}, check.Dead, [2]int64{1350, 1550}, [2]int64{0, 10}, false},
		{"a stall soon after the heal", [][]history.Event{calm, fault("f1", "zone-partition", 3000, 4200, cutAC), players(1000, 10_000, 0, 0), locking(1000, 10_000, 4400, 7400)}, check.Dead, [2]int64{2850, 3050}, [2]int64{3150, 3250}, false},
		{"a stall long after the heal", [][]history.Event{calm, fault("f1", "zone-partition", 3000, 4200, cutAC), players(1000, 10_000, 0, 0), locking(1000, 10_000, 6500, 9000)}, check.Dead, [2]int64{2350, 2550}, [2]int64{0, 10}, false},
		{"a stall that the fault explains", [][]history.Event{calm, fault("f1", "zone-partition", 3000, 4200, cutAC), players(1000, 10_000, 0, 0), locking(1000, 10_000, 4400, 6000)}, check.Live, [2]int64{1350, 1550}, [2]int64{1750, 1850}, false},
		{"the next fault's stall is its own", [][]history.Event{
			calm, fault("f1", "zone-partition", 3000, 4200, cutAC), fault("f2", "zone-partition", 4600, 7000, cutAC),
			players(1000, 10_000, 4600, 7020), locking(1000, 10_000, 4600, 7020),
		}, check.Down, [2]int64{2000, 2500}, [2]int64{0, 100}, false},
		{"not back when the next fault began", [][]history.Event{
			calm, fault("f1", "zone-partition", 3000, 4200, cutAC), fault("f2", "zone-partition", 4600, 7005, cutAC),
			players(1000, 10_000, 3100, 7300), locking(1000, 10_000, 3100, 7300),
		}, check.Down, [2]int64{3800, 4500}, [2]int64{3050, 3150}, false},
		{"nothing was served, before or after", [][]history.Event{calm, partition, players(1000, 10_000, 0, 99_000), locking(1000, 10_000, 0, 0)}, check.Live, [2]int64{0, 10}, [2]int64{-1, -1}, false},
		{"healed after the measured part", [][]history.Event{calm, fault("f1", "zone-partition", 3000, 10_010, cutAC), players(1000, 10_000, 3100, 99_000), locking(1000, 10_000, 0, 0)}, check.Live, [2]int64{0, 10}, [2]int64{-1, -1}, false},
		{"what was broken was not all back", [][]history.Event{calm, gone, players(1000, 10_000, 3100, 99_000), locking(1000, 10_000, 3100, 99_000)}, check.Down, [2]int64{6400, 7000}, [2]int64{-1, -1}, false},
		{"never back", [][]history.Event{calm, partition, players(1000, 10_000, 3100, 99_000), locking(1000, 10_000, 3100, 99_000)}, check.Down, [2]int64{6400, 7000}, [2]int64{2000, 2000}, true},
		{"one of its resources 500 ms later", [][]history.Event{calm, partition, work(), asks("x", "m1", "timeout", 7900, 8500, 100), gotten("m1", "x1", 8495, 8500, 8501)}, check.Live, [2]int64{0, 600}, [2]int64{500, 500}, false},
		{"one of its resources never", [][]history.Event{calm, partition, work(), asks("x", "m1", "timeout", 7500, 10_000, 500)}, check.Down, [2]int64{1950, 2500}, [2]int64{2000, 2000}, true},
		{"one of its resources, soon after", [][]history.Event{calm, partition, work(), gotten("m1", "x0", 7990, 7995, 7996), asks("x", "m1", "timeout", 9000, 10_000, 500)}, check.Stalls, [2]int64{950, 1000}, [2]int64{2000, 2000}, true},
		{"one of its resources, which a holder alive has", [][]history.Event{calm, partition, work(), gotten("m2", "x0", 7000, 7005, 9000), asks("x", "m1", "timeout", 7500, 9000, 500), gotten("m1", "x1", 8900, 9002, 9010)}, check.Live, [2]int64{0, 20}, [2]int64{0, 10}, false},
		{"one of its resources, granted to the next who asked", [][]history.Event{calm, partition, work(), asks("x", "m1", "timeout", 7700, 7900, 200), gotten("m1", "x1", 8135, 8145, 8150)}, check.Live, [2]int64{0, 460}, [2]int64{0, 10}, false},
		{"one of its resources, refused to several", [][]history.Event{calm, partition, work(), asks("x", "m1", "timeout", 7700, 7900, 200), refusals("x", "unavailable", 8100, 8301, 200), gotten("m1", "x1", 8435, 8445, 8450)}, check.Live, [2]int64{0, 760}, [2]int64{440, 450}, false},
		{"one of its resources, given up at once", [][]history.Event{calm, partition, work(), asks("x", "m1", "timeout", 7900, 8100, 200)}, check.Live, [2]int64{0, 210}, [2]int64{100, 100}, false},
		{"one of its resources, given up at once, and granted to who asked long after", [][]history.Event{calm, partition, work(), asks("x", "m1", "timeout", 7900, 8100, 200), gotten("m1", "x1", 9595, 9600, 9601)}, check.Live, [2]int64{0, 210}, [2]int64{105, 105}, false},
		{"one of its resources, not back when the next fault began", [][]history.Event{
			calm, fault("f1", "zone-partition", 3000, 4200, cutAC), fault("f2", "zone-partition", 4600, 7005, cutAC),
			work(), asks("x", "m1", "timeout", 3900, 7300, 100), gotten("m1", "x1", 7295, 7300, 7301),
		}, check.Down, [2]int64{2300, 3400}, [2]int64{3095, 3110}, false},
		{"refuses at once", [][]history.Event{calm, partition, players(1000, 10_000, 0, 0), locking(1000, 3100, 0, 0), refusals("g", "unavailable", 3100, 8000, 100), locking(8000, 10_000, 0, 0)}, check.Down, [2]int64{4500, 5000}, [2]int64{0, 10}, false},
		{"the waiting master is dead", [][]history.Event{
			calm, partition, players(1000, 10_000, 0, 0), locking(1000, 3100, 0, 0), locking(8000, 10_000, 0, 0),
			{node("m1", "killed", 3100), node("m1", "started", 7990), {Kind: history.KindAcquire, Node: "m1", Resource: "g", FromNS: 3100 * ms, AtNS: 7995 * ms, Outcome: "unknown"}},
		}, check.Live, [2]int64{0, 300}, [2]int64{0, 10}, false},
		{"the waiting master was paused", [][]history.Event{
			calm, partition, players(1000, 10_000, 0, 0), locking(1000, 3100, 0, 0), locking(8000, 10_000, 0, 0),
			{node("m1", "paused", 3110), node("m1", "resumed", 7990), {Kind: history.KindAcquire, Node: "m1", Resource: "g", FromNS: 3100 * ms, AtNS: 7995 * ms, Outcome: "ok"}},
		}, check.Live, [2]int64{0, 300}, [2]int64{0, 10}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, f := judged(t, history.Expect{}, c.lists...)
			if f.Liveness != c.liveness || f.Longest.NS < c.stall[0]*ms || f.Longest.NS > c.stall[1]*ms {
				t.Errorf("%s, stall %d ms; want %s, %v", f.Liveness, f.Longest.NS/ms, c.liveness, c.stall)
			}
			low, high := c.recovery[0]*ms, c.recovery[1]*ms
			if c.recovery[0] < 0 {
				low, high = -1, -1
			}
			if f.RecoveryNS < low || f.RecoveryNS > high || f.NotRecovered != c.never {
				t.Errorf("recovery %d ns, never %v; want %v", f.RecoveryNS, f.NotRecovered, c.recovery)
			}
		})
	}
}

// TestAZoneMayBeWithoutTheLockWhileItIsLive: m2 in zone c waits throughout the fault, and m1 in
// zone a is served. It waits for longer than the fault lasts, and that counts too.
func TestAZoneMayBeWithoutTheLockWhileItIsLive(t *testing.T) {
	run := world()
	run.Run.HostZones = map[string]string{"ha": "a", "hc": "c"}
	events := slices.Concat([]history.Event{run}, phases(1000, 10_000, 10_100), fault("f1", "zone-partition", 3000, 8000, cutAC), players(1000, 10_000, 0, 0))
	for _, e := range locking(1000, 10_000, 0, 0) {
		if e.Node == "m1" || e.AtNS < 3000*ms || e.AtNS > 9000*ms {
			events = append(events, e)
		}
	}
	for at := int64(3000); at < 9000; at += 500 {
		events = append(events, history.Event{Kind: history.KindAcquire, Node: "m2", Resource: "g", FromNS: at * ms, AtNS: (at + 500) * ms, Outcome: "failed", Error: "timeout"})
	}
	f := checktest.Events(events, options)
	if f.Liveness != check.Live || f.InZone.Of != "c" || f.InZone.NS < 5900*ms || f.Longest.NS > 1000*ms {
		t.Errorf("%s, stall %d ms, of zone %q %d ms", f.Liveness, f.Longest.NS/ms, f.InZone.Of, f.InZone.NS/ms)
	}
	if f.InZone.BeforeNS != 0 {
		t.Errorf("%d ms of that before the fault, which it began with", f.InZone.BeforeNS/ms)
	}
	late := slices.Concat(events, fault("f1", "zone-partition", 5000, 8000, cutAC))
	late = slices.DeleteFunc(late, func(e history.Event) bool { return e.Kind == history.KindFault && e.AtNS < 5000*ms })
	l := checktest.Events(late, options)
	if before := l.InZone.BeforeNS; before < 1900*ms || before > 2500*ms || l.InZone.NS != f.InZone.NS {
		t.Errorf("asked two seconds later: %d of %d ms before the fault", before/ms, l.InZone.NS/ms)
	}
	if m := check.Merge(f, l); m.InZone.BeforeNS != f.InZone.BeforeNS {
		t.Errorf("of two that are as long the second's %d ms", m.InZone.BeforeNS/ms)
	}
	if m := check.Merge(checktest.Events(events[:1], options), l); m.InZone.BeforeNS != l.InZone.BeforeNS {
		t.Errorf("of two repeats %d ms before the fault", m.InZone.BeforeNS/ms)
	}
	if m := check.Merge(checktest.Events(events[:1], options), f); m.InZone.Of != "c" || m.InZone.NS != f.InZone.NS {
		t.Errorf("of two repeats: zone %q, %d ms", m.InZone.Of, m.InZone.NS/ms)
	}
}

func TestMerge(t *testing.T) {
	calm := phases(1000, 10_000, 10_100)
	_, a := judged(t, history.Expect{}, calm, work())
	_, b := judged(t, history.Expect{}, calm, players(1000, 10_000, 3100, 8300), locking(1000, 10_000, 3100, 8300), fault("f1", "zone-partition", 3000, 8000, cutAC))
	b.Counts["stale_writes"], b.Violated["stale write"] = 3, 2 // as the part of a workload would
	if n, what := check.Merge(b, a, b).Violations(); n != 4 || what.String() != "4 stale writes" || check.Merge(b, b).Counts["stale_writes"] != 6 {
		t.Errorf("%d violations: %s", n, what)
	}
	m := check.Merge(a, b)
	if m.Repeats != 2 || m.OK != a.OK+b.OK || m.Liveness != check.Down || m.Longest.NS != b.Longest.NS || m.RecoveryNS != b.RecoveryNS ||
		m.Latency.Count() != a.Latency.Count()+b.Latency.Count() || m.MeasuredNS != 18_000*ms || len(m.Faults) != 1 || m.Faults[0].Repeat != 2 {
		t.Errorf("%+v", m)
	}
	if b.Longest.Of != "" || b.Whole != b.Longest || m.Whole != b.Whole {
		t.Errorf("the longest stall is %+v, of the lock %+v, merged %+v", b.Longest, b.Whole, m.Whole)
	}
	if m.Errors["unavailable"] != b.Errors["unavailable"] || m.Availability() >= 1 || m.Availability() < 0.5 {
		t.Errorf("errors %v, availability %v", m.Errors, m.Availability())
	}
	if check.Merge() != nil {
		t.Error("merging nothing gave something")
	}
}

// TestOtherRepeatsMakeNothingGood: a repeat that alone would be violated makes the row so, however well the
// others did, and whether or not they decide anything.
func TestOtherRepeatsMakeNothingGood(t *testing.T) {
	served := func(ok int64) *check.Findings {
		return &check.Findings{Repeats: 1, OK: ok, Granted: ok, AcquiredOK: ok, During: check.Served{OK: ok, All: 100}, FaultsNS: int64(3 * time.Second), Liveness: check.Live, Demand: true}
	}
	lost := served(100)
	lost.GivenUp = []sentence.Text{sentence.Name("no answer")}
	want := history.Expect{Safety: check.Safe, Availability: history.Availability{During: 0.4}}
	for _, c := range []struct {
		repeats []*check.Findings
		status  check.Status
		why     string
	}{
		{[]*check.Findings{served(100), served(80)}, check.Expected, ""},
		{[]*check.Findings{served(100), served(24), served(90)}, check.Violated, "Repeat 2 of 3 was not as expected: expected that at least 40 % of the operations"},
		{[]*check.Findings{served(100), served(24), served(30)}, check.Violated, "2 of 3 repeats were not as expected, the first of them repeat 2: expected that"},
		{[]*check.Findings{lost, served(24)}, check.Violated, "Repeat 2 of 2 was not as expected: "},
		{[]*check.Findings{lost, served(100)}, check.Inconclusive, "No answer"},
	} {
		if _, v := check.JudgeRepeats(c.repeats, want); v.Status != c.status || !strings.HasPrefix(v.Why, c.why) {
			t.Errorf("%s: %s, want %s: %s", v.Status, v.Why, c.status, c.why)
		}
	}
}

// TestTheLatestRepeatIsTold: of repeats of which several were late, the reason is that of the latest, in
// whatever order they ran.
func TestTheLatestRepeatIsTold(t *testing.T) {
	late := func(ms int64) *check.Findings {
		_, f := judged(t, history.Expect{}, phases(1000, 10_000, 10_100), locking(1000, 10_000, 0, 0), lateBy(ms))
		return f
	}
	a, b := late(60), late(90)
	for _, repeats := range [][]*check.Findings{{a, b}, {b, a}, {a, b, a}} {
		if _, v := check.JudgeRepeats(repeats, history.Expect{}); v.Status != check.Inconclusive || !strings.Contains(v.Why, "p99 90") {
			t.Errorf("%s: %s", v.Status, v.Why)
		}
	}
}

// lateBy are players whose requests were all sent so many milliseconds late.
func lateBy(late int64) []history.Event {
	list := players(1000, 10_000, 0, 0)
	for i := range list {
		list[i].SentNS = list[i].FromNS + late*ms
		list[i].AtNS = list[i].SentNS + 200*ms
	}
	return list
}

// TestLateGeneratorJudgesNothing: neither if the load was another one, nor if the
// latencies are mostly its own lateness.
func TestLateGeneratorJudgesNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		late  float64 // ms, of all operations, which take 5 ms
		every int     // operation; 1 is all
		want  string
	}{
		"on time":              {0.02, 1, ""},
		"some of them late":    {49, 3, ""},
		"as late as it takes":  {2.6, 1, "p50 2.60 ms after the intended time, more than half of the latency"},
		"less late than that":  {2.4, 1, ""},
		"half a slot too late": {51, 3, "p99 51"},
	} {
		players := players(1000, 10_000, 0, 0)
		for i := range players {
			e := &players[i]
			e.SentNS = e.FromNS
			if i%tt.every == 0 {
				late := int64(tt.late * float64(ms))
				e.SentNS += late
				e.AtNS = max(e.AtNS, e.SentNS)
			}
		}
		v, _ := judged(t, history.Expect{Safety: check.Safe}, phases(1000, 10_000, 10_100), players, locking(1000, 10_000, 0, 0))
		want := check.Expected
		if tt.want != "" {
			want = check.Inconclusive
		}
		if v.Status != want || !strings.Contains(v.Why, tt.want) {
			t.Errorf("%s: %s: %s; want %s: %s", name, v.Status, v.Why, want, tt.want)
		}
	}
}

// TestWhoStaysAwayIsAFaultInForce: a server that does not come back with the links, because
// it must stay away for a lease, is what requests fail of.
func TestWhoStaysAwayIsAFaultInForce(t *testing.T) {
	broken := fault("f1", "zone-failure", 2000, 4000, func(e *history.Event) { e.Nodes = []string{"s1"} })
	for name, c := range map[string]struct {
		back   []history.Event
		up     int64
		status check.Status
	}{
		"never back":            {nil, 10_000, check.Expected},
		"back late":             {[]history.Event{node("s1", "started", 7000)}, 8400, check.Expected},
		"back, and it fails on": {[]history.Event{node("s1", "started", 4100)}, 10_000, check.Violated},
	} {
		v, _ := judged(t, history.Expect{Safety: check.Safe, Availability: history.Availability{Outside: 0.99}}, phases(1000, 10_000, 10_100),
			players(1000, 10_000, 2000, c.up), locking(1000, 10_000, 0, 0), broken, []history.Event{killed("s1", 2003, 2004)}, c.back)
		if v.Status != c.status {
			t.Errorf("%s: %s: %s", name, v.Status, v.Why)
		}
	}
}

// TestViolationsAreOneSentence: what is said of the warm-up ends before the next kind begins.
func TestViolationsAreOneSentence(t *testing.T) {
	f := &check.Findings{WarmupDuplicates: check.Duplicates{Raced: 2}, Overlaps: 3}
	const want = "2 duplicates (2 raced, 0 overlooked), 2 of them during the warm-up, and 3 overlapping holds"
	if _, what := f.Violations(); what.String() != want {
		t.Errorf("%q, want %q", what, want)
	}
}

// TestAcquired: who failed was not granted, and who did not want it any more does not count. It
// is decided by when it was asked for, so that what an outage refuses at the end is not left out.
func TestAcquired(t *testing.T) {
	_, f := judged(t, history.Expect{}, phases(1000, 10_000, 10_100), players(1000, 10_000, 0, 0), locking(1000, 3000, 0, 0),
		refusals("g", "unavailable", 3000, 8000, 100), refusals("g", "canceled", 8000, 9000, 100),
		[]history.Event{acquire("m1", "early", "h-early", 500, 1500, 0), asks("late", "m1", "unavailable", 9500, 10_050, 550)[0]})
	if share, asked := f.Acquired(); !asked || f.AcquiredOK != 100 || f.AcquiredNot != 51 || share < 0.66 || share > 0.67 || f.Acquire.Max() > 100*ms {
		t.Errorf("%d were granted and %d not, a share of %v; want 100 and 51", f.AcquiredOK, f.AcquiredNot, share)
	}
}

// TestAnOutageBeginsWithWhoWaits: its example is as long as its picture, and says what of it counts.
func TestAnOutageBeginsWithWhoWaits(t *testing.T) {
	events := locking(1000, 3000, 0, 0)
	events = append(events, acquire("m2", "m2", "late", 3500, 6000, 0), release("m2", "late", 6005, 6006))
	_, f := judged(t, history.Expect{}, phases(1000, 10_000, 10_100), players(1000, 10_000, 0, 0), events)
	i := slices.IndexFunc(f.Outages, func(e check.Example) bool { return e.What == "outage" })
	if i < 0 || f.Outages[i].AtNS != 2500*ms || f.Outages[i].LastsNS != 2500*ms || !strings.Contains(f.Outages[i].Text.String(), "for 2.5 s; then m2 got r") {
		t.Errorf("want 2.5 s from 2500 ms on: %+v", f.Outages)
	}
}

// TestAnOutageThatNobodyEnds: it is shown to the end of the measured part, with the time in which nobody
// wanted the lock, and what of it counts is said.
func TestAnOutageThatNobodyEnds(t *testing.T) {
	events := slices.Concat(locking(1000, 3000, 0, 0), asks("r", "m1", "timeout", 4000, 6000, 500), asks("r", "m2", "timeout", 8000, 10_000, 500))
	_, f := judged(t, history.Expect{}, phases(1000, 10_000, 10_100), players(1000, 10_000, 0, 0), events)
	i := slices.IndexFunc(f.Outages, func(e check.Example) bool { return e.What == "outage" })
	if i < 0 || f.Outages[i].AtNS != 3000*ms || f.Outages[i].LastsNS != 6000*ms {
		t.Fatalf("want 6 s from 3000 ms on: %+v", f.Outages)
	}
	for _, want := range []string{"for 6 s, to the end of the measured part", "of these, 4 s count"} {
		if text := f.Outages[i].Text.String(); !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
}

// TestWhoIsRefusedBetweenHoldsWaitsForThem: after a refusal while nobody held the lock, the time of the
// next one, who is alive, is no stall; that after it is.
func TestWhoIsRefusedBetweenHoldsWaitsForThem(t *testing.T) {
	events := slices.Concat(locking(1000, 3000, 0, 0), asks("r", "m2", "unavailable", 3000, 3001, 1),
		[]history.Event{acquire("m1", "m1", "long", 3002, 3010, 0), release("m1", "long", 3190, 3191), acquire("m2", "m2", "late", 3100, 4000, 0), release("m2", "late", 4005, 4006)})
	_, f := judged(t, history.Expect{}, phases(1000, 10_000, 10_100), players(1000, 10_000, 0, 0), events)
	if f.Longest.NS < 800*ms || f.Longest.NS > 812*ms {
		t.Errorf("a stall of %d ms; want 810 ms, from the end of the hold on", f.Longest.NS/ms)
	}
}
