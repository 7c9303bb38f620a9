package check_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"locklab/workloads/check"
	"locklab/workloads/history"
)

// load is a machine with two CPUs that was sampled every half second: so busy, with the
// lab's processes running for a quarter of the time and waiting for so much.
func load(host string, from, to int64, busy, waits float64, late int64) []history.Event {
	var list []history.Event
	for at := from; at < to; at += 500 {
		ns := func(share float64) *int64 { v := int64(share * float64(500*ms)); return &v }
		list = append(list, history.Event{
			Kind: history.KindMachine, Host: host, FromNS: at * ms, AtNS: (at + 500) * ms,
			Machine: &history.Machine{CPUs: 2, BusyNS: ns(2 * busy), PressureNS: ns(0.5), RunNS: ns(0.25), WaitNS: ns(waits), LateNS: late},
		})
	}
	return list
}

// own makes the lab's processes use so much of both CPUs.
func own(samples []history.Event, share float64) []history.Event {
	for _, e := range samples {
		*e.Machine.RunNS = int64(share * float64(2*(e.AtNS-e.FromNS)))
	}
	return samples
}

// fsync makes one page of all take so long to be safe.
func fsync(samples []history.Event, ns int64) []history.Event {
	samples[len(samples)/2].Machine.FsyncNS = &ns
	return samples
}

// TestBusyMachineJudgesNothing: whatever was seen on a machine that left the lab's
// processes too little, it decides nothing, and the reason comes first.
func TestBusyMachineJudgesNothing(t *testing.T) {
	calm := phases(1000, 10_000, 10_100)
	work := work()
	stalled := append(players(1000, 10_000, 4000, 7000), locking(1000, 10_000, 4000, 7000)...)
	twice := raced()
	noDisk := world() // of a lock that waits for none
	noDisk.Run.NoDisk = true
	safe := history.Expect{Safety: check.Safe, Liveness: []string{check.Live}}
	const waits = 0.25 * (check.MaxSlowdown - 1) // just not saturated
	for name, tt := range map[string]struct {
		events, machine []history.Event
		want            history.Expect
		status          check.Status
		why             string
	}{
		"calm":                  {work, load("", 0, 10_500, 0.6, 0.3, ms), safe, check.Expected, ""},
		"nothing is known":      {work, nil, safe, check.Expected, ""},
		"busy, but not for us":  {work, load("", 0, 10_500, 1, 0.3, ms), safe, check.Expected, ""},
		"just bearable":         {work, load("", 0, 10_500, 1, waits-0.01, 499*ms), safe, check.Expected, ""},
		"slow":                  {work, load("", 0, 10_500, 0.98, waits+0.5, ms), safe, check.Inconclusive, "The controller's machine was saturated: its CPUs were busy for 98 % of the time, and with the waiting for a CPU, the work of the lab's processes took 12.0 times as long"},
		"slow and unsafe":       {twice, load("hw1", 0, 10_500, 1, 2*waits, ms), safe, check.Inconclusive, "The machine of host hw1 was saturated"},
		"bearable and unsafe":   {append(twice, work...), load("hw1", 0, 10_500, 1, waits-0.01, ms), safe, check.Violated, "duplicate (1 raced"},
		"slow and stalled":      {stalled, load("", 0, 10_500, 1, 2*waits, ms), safe, check.Inconclusive, "was saturated"},
		"calm and stalled":      {stalled, load("", 0, 10_500, 0.5, 0.3, ms), safe, check.Violated, "nobody got"},
		"slow disk and stalled": {stalled, fsync(load("", 0, 10_500, 0.5, 0.3, ms), 501*ms), safe, check.Inconclusive, "That may be the machine's doing: a page took 501 ms to be safe on the disk of the controller's machine"},
		"quick disk, stalled":   {stalled, fsync(load("", 0, 10_500, 0.5, 0.3, ms), 499*ms), safe, check.Violated, "nobody got"},
		"slow disk, and fine":   {work, fsync(load("", 0, 10_500, 0.5, 0.3, ms), 3000*ms), safe, check.Expected, ""},
		"slow disk, unneeded":   {append(slices.Clone(stalled), noDisk), fsync(load("", 0, 10_500, 0.5, 0.3, ms), 501*ms), safe, check.Violated, "nobody got"},
		"slow disk and unsafe":  {append(twice, work...), fsync(load("", 0, 10_500, 0.5, 0.3, ms), 3000*ms), safe, check.Violated, "duplicate (1 raced"},
		"slow beside free CPUs": {work, load("", 0, 10_500, 0.8, waits+0.5, ms), safe, check.Expected, ""},
		"full and stalled":      {stalled, load("", 0, 10_500, 0.96, 0.3, ms), safe, check.Inconclusive, "That may be the machine's doing: the CPUs of the controller's machine were busy for 96 %"},
		"full in one second":    {stalled, append(load("", 0, 5000, 0.5, 0.3, ms), append(load("", 5000, 6000, 0.96, 0.3, ms), load("", 6000, 10_500, 0.5, 0.3, ms)...)...), safe, check.Inconclusive, "were busy for 96 % of a second"},
		"full, but fast for us": {
			stalled, load("", 0, 10_500, 0.96, 0.2, ms), safe, check.Violated, "nobody got",
		},
		"slow control": {work, load("", 0, 10_500, 1, 2*waits, ms), history.Expect{Safety: check.Unsafe}, check.Inconclusive, "was saturated"},
		"late":         {work, load("", 0, 10_500, 0.5, 0.3, 501*ms), safe, check.Inconclusive, "went off 501 ms too late (want at most 500 ms"},
		"full of the lab": {
			work, own(load("", 0, 10_500, 1, 0.3, ms), 0.91), safe, check.Inconclusive, "was saturated: its CPUs were busy for 100 % of the time, and the lab's own processes alone used 91 % of them",
		},
		"nearly full of it": {work, own(load("", 0, 10_500, 1, 0.3, ms), 0.89), safe, check.Expected, ""},
		"one of two hosts": {
			work, append(load("hm1", 0, 10_500, 0.5, 0.3, ms), load("hw1", 0, 10_500, 1, 2*waits, ms)...), safe, check.Inconclusive, "The machine of host hw1",
		},
		"slow before":         {work, load("", 0, 1000, 1, 20, 900*ms), safe, check.Expected, ""},
		"slow after":          {work, load("", 10_000, 12_000, 1, 20, 900*ms), safe, check.Expected, ""},
		"slow and incomplete": {work[:1], load("", 0, 10_500, 1, 20, ms), safe, check.Inconclusive, "was saturated"},
	} {
		v, f := judged(t, tt.want, calm, tt.events, tt.machine)
		if v.Status != tt.status || !strings.Contains(v.Why, tt.why) {
			t.Errorf("%s: %s: %s; want %s: %s", name, v.Status, v.Why, tt.status, tt.why)
		}
		saturated := strings.Contains(tt.why, "saturated") || strings.Contains(tt.why, "went off") || strings.Contains(tt.why, "machine of")
		if (len(f.Saturated) > 0) != saturated {
			t.Errorf("%s: saturated: %q", name, f.Saturated)
		}
	}
}

// TestGivenUpRunJudgesNothing: its history has holes, and the reason is told.
func TestGivenUpRunJudgesNothing(t *testing.T) {
	twice := raced()
	given := []history.Event{{Kind: history.KindGivenUp, AtNS: 10_200 * ms, Error: "stop m1: no answer"}}
	work := work()
	for name, events := range map[string][]history.Event{"whole": work, "with a violation": append(twice, work...), "empty": nil} {
		v, f := judged(t, history.Expect{Safety: check.Safe}, phases(1000, 10_000, 10_100), events, given)
		if v.Status != check.Inconclusive || !strings.HasPrefix(v.Why, "The run was given up") || !strings.Contains(v.Why, ": stop m1: no answer") {
			t.Errorf("%s: %s: %s", name, v.Status, v.Why)
		}
		if n, _ := f.Violations(); n > 0 != strings.Contains(v.Why, "there were") {
			t.Errorf("%s: %d violations, %s", name, n, v.Why)
		}
	}
}

// TestARunGivenUpBeforeItWasMeasured is neither safe nor live.
func TestARunGivenUpBeforeItWasMeasured(t *testing.T) {
	given := []history.Event{{Kind: history.KindGivenUp, AtNS: 500 * ms, Error: "start m1: not ready"}}
	v, f := judged(t, history.Expect{Safety: check.Safe, Liveness: []string{check.Live}}, given)
	if f.MeasuredNS != 0 || v.Status != check.Inconclusive || v.Safety != check.SafetyNotJudged || v.Liveness != check.LivenessNotJudged {
		t.Errorf("%s, %s, %s of %d ns", v.Status, v.Safety, v.Liveness, f.MeasuredNS)
	}
}

// TestADisturbedRepeatHidesNoOther: a violation counts where nothing disturbed its repeat.
func TestADisturbedRepeatHidesNoOther(t *testing.T) {
	calm, work, twice := phases(1000, 10_000, 10_100), work(), raced()
	safe := history.Expect{Safety: check.Safe}
	_, fine := judged(t, safe, calm, work, twice, load("", 0, 10_500, 0.5, 0.2, ms))
	for name, by := range map[string][]history.Event{
		"a busy machine": load("", 0, 10_500, 1, 5, ms),
		"a lost host":    append(loss("hm1", 1500, "m1"), load("", 0, 10_500, 0.5, 0.2, ms)...),
	} {
		_, disturbed := judged(t, safe, calm, work, twice, by)
		for _, both := range [][2]*check.Findings{{disturbed, fine}, {fine, disturbed}} {
			if v := check.Judge(check.Merge(both[:]...), safe); v.Status != check.Violated {
				t.Errorf("%s: %s: %s; want violated", name, v.Status, v.Why)
			}
		}
		m := check.Merge(disturbed, disturbed)
		if v := check.Judge(m, safe); v.Status != check.Inconclusive || len(m.Hosts) != 1 || m.Hosts[0].Saturated != (name == "a busy machine") {
			t.Errorf("%s: %s: %s, hosts %+v; want inconclusive, and one host", name, v.Status, v.Why, m.Hosts)
		}
	}
}

// TestLoadIsThatOfTheMeasuredPart: figures of a machine do not reach beyond it.
func TestLoadIsThatOfTheMeasuredPart(t *testing.T) {
	machine := append(load("", 250, 1250, 1, 4, ms), load("", 1250, 9750, 0.5, 0.25, 3*ms)...)
	machine = append(machine, load("", 9750, 12_000, 1, 4, ms)...)
	_, f := judged(t, history.Expect{}, phases(1000, 10_000, 10_100), machine)
	if len(f.Hosts) != 1 || f.Hosts[0].SpanNS != 9000*ms {
		t.Fatalf("hosts %+v, want one with 9 s", f.Hosts)
	}
	h := f.Hosts[0]
	busy, _ := h.Busy()
	slowdown, _ := h.Slowdown()
	pressure, _ := h.Pressure()
	for _, want := range []struct {
		name       string
		have, want float64
	}{
		{"busy", busy, (8.5*0.5 + 0.5*1) / 9},
		{"busiest second", h.BusyMax, 0.75},
		{"pressure", pressure, 0.5},
		{"slowdown", slowdown, 1 + (8.5*0.25+0.5*4)/(9*0.25)},
		{"late", float64(h.Sum.LateNS), float64(3 * ms)},
	} {
		if math.Abs(want.have-want.want) > 0.001 {
			t.Errorf("%s %v, want %v", want.name, want.have, want.want)
		}
	}
	if _, known := h.Throttled(); known {
		t.Error("throttling is not known, and yet it is told")
	}
}

// TestStolenTimeIsWaiting: of what a hypervisor took away, the lab waited for its share.
func TestStolenTimeIsWaiting(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	for _, c := range []struct {
		busy, stolen, run int64
		want              float64
	}{{2000, 0, 500, 1.5}, {2000, 1000, 500, 2.5}, {2000, 1500, 500, 4.5}, {1500, 1500, 500, 4.5}} {
		h := check.HostLoad{Sum: history.Machine{BusyNS: n(c.busy), StolenNS: n(c.stolen), RunNS: n(c.run), WaitNS: n(250)}}
		if have, known := h.Slowdown(); !known || math.Abs(have-c.want) > 1e-9 {
			t.Errorf("busy %d, stolen %d, run %d: slowdown %v, want %v", c.busy, c.stolen, c.run, have, c.want)
		}
	}
	_, f := judged(t, history.Expect{}, phases(1000, 10_000, 10_100), []history.Event{
		{Kind: history.KindMachine, FromNS: 0, AtNS: 2000 * ms, Machine: &history.Machine{CPUs: 2, BusyNS: n(20), StolenNS: n(10), RunNS: n(1), WaitNS: n(1)}},
		{Kind: history.KindMachine, FromNS: 2000 * ms, AtNS: 4000 * ms, Machine: &history.Machine{CPUs: 2, BusyNS: n(20), StolenNS: n(4), RunNS: n(1), WaitNS: n(1)}},
	})
	if stolen := f.Hosts[0].Sum.StolenNS; stolen == nil || *stolen != 5+4 {
		t.Errorf("stolen %v, want the half of 10 that was measured, and 4", stolen)
	}
}
