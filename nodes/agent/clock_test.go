package agent

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"pgregory.net/rapid"

	"locklab/internal/must"
	"locklab/locks/clock"
)

func TestClockOffsetOfOneMachine(t *testing.T) {
	_, c := newAgent(t, nil)
	e, err := c.ClockOffset(t.Context(), 5)
	must.Do(t, err)
	if e.Offset.Offset.Abs() > e.Error || e.RoundTrip.Offset.Abs() > e.RoundTrip.Error {
		t.Errorf("offset %s with an error bound of %s on one machine", e.Offset.Offset, e.Error)
	}
	if e.Real != nil && (e.Real.Offset.Abs() > e.Real.Error || e.Contradictory()) {
		t.Errorf("through the wall clocks: %+v on one machine", *e.Real)
	}
}

// TestClockIsReadAsAWhole: the wall clock is that of the machine, and both readings
// belong to one moment.
func TestClockIsReadAsAWhole(t *testing.T) {
	_, c := newAgent(t, nil)
	before, wall := clock.Mono(), clock.System().Now().UnixNano()
	r, err := c.Clock(t.Context())
	must.Do(t, err)
	after, wallAfter := clock.Mono(), clock.System().Now().UnixNano()
	if r.MonoNS < before || r.MonoNS > after || r.RealNS < wall || r.RealNS > wallAfter || r.ApartNS < 0 || r.ApartNS > after-before {
		t.Errorf("%+v, want within %d to %d and %d to %d", r, before, after, wall, wallAfter)
	}
	if r.Synced && r.MaxErrorUS <= 0 {
		t.Errorf("synced, with a maximum error of %d us", r.MaxErrorUS)
	}
	text, err := json.Marshal(r)
	must.Do(t, err)
	var fields map[string]any
	must.Do(t, json.Unmarshal(text, &fields))
	for _, want := range []string{"mono_ns", "real_ns", "max_error_us", "synced"} {
		if _, there := fields[want]; !there {
			t.Errorf("the answer has no %s: %s", want, text)
		}
	}
}

// TestEstimateIsRight: whatever clocks there are, the truth is within every bound
// as long as the kernels' are true, and the chosen bound is the smallest.
func TestEstimateIsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		truth := time.Duration(rapid.Int64Range(-1e15, 1e15).Draw(t, "truth"))
		off := func(bound int64, what string) int64 { return rapid.Int64Range(-bound, bound).Draw(t, what) }
		const real0 = int64(1_700_000_000_000_000_000)
		reading := func(mono int64, what string) ClockReading {
			r := ClockReading{
				MonoNS: mono, ApartNS: rapid.Int64Range(0, 1e6).Draw(t, what+" apart"),
				MaxErrorUS: rapid.Int64Range(0, 1e5).Draw(t, what+" max error"), Synced: rapid.Bool().Draw(t, what+" synced"),
			}
			r.RealNS = real0 + off(r.MaxErrorUS*1000, what+" error") + off(r.ApartNS/2, what+" gap")
			return r
		}
		bound := rapid.Int64Range(0, 1e7).Draw(t, "half a round trip")
		trip := Offset{truth + time.Duration(off(bound, "asymmetry")), time.Duration(bound)}
		local, remote := reading(5e14+int64(truth), "local"), reading(5e14, "remote")
		e := estimate(trip, local, remote)
		for what, o := range map[string]*Offset{"used": &e.Offset, "round trip": &e.RoundTrip, "real": e.Real} {
			if o != nil && (o.Offset-truth).Abs() > o.Error {
				t.Fatalf("%s: %+v does not hold the truth %v", what, *o, truth)
			}
		}
		if e.Contradictory() {
			t.Fatalf("true bounds contradict each other: %+v", e)
		}
		if (e.Real != nil) != (local.Synced && remote.Synced) {
			t.Fatalf("synced %v, %v: %+v", local.Synced, remote.Synced, e)
		}
		if e.Error > trip.Error || (e.Real != nil && e.Error > e.Real.Error) {
			t.Fatalf("a smaller error was there: %+v", e)
		}
	})
}

// TestContradictionIsSeen: a kernel that is wrong about its clock is not believed.
func TestContradictionIsSeen(t *testing.T) {
	synced := ClockReading{MonoNS: 1000, RealNS: 5000, MaxErrorUS: 1, Synced: true}
	late := synced
	late.RealNS += int64(time.Second)
	trip := Offset{0, 100 * time.Microsecond}
	e := estimate(trip, synced, late)
	if !e.Contradictory() || e.Offset != trip {
		t.Errorf("%+v: want a contradiction, and the round trip's offset", e)
	}
	if e := estimate(trip, synced, synced); e.Contradictory() || e.Offset != *e.Real {
		t.Errorf("%+v: want the wall clocks' offset", e)
	}
}
