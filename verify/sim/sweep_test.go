package sim_test

import (
	"math"
	"testing"
	"time"

	"locklab/verify/sim"
)

// TestMeasure compares with what is known: messages of an acquisition, and a round trip
// to the farthest peer as its latency.
func TestMeasure(t *testing.T) {
	for lock, messages := range map[string]float64{"multiphase": 3, "lamport": 3, "ricart-agrawala": 2, "multiphase:quorum": 3, "2pc": 4} {
		for _, peers := range []int{2, 3, 10, 64, 65, 130} {
			p := sim.Measure(simulator(t, lock), peers, 3, 1)
			if want := messages * float64(peers-1); math.Abs(p.Messages-want) > want/50 {
				t.Errorf("%s, %d peers: %.1f messages, want %.0f", lock, peers, p.Messages, want)
			}
			if p.Acquire.P50 < time.Millisecond*9/10 || p.Acquire.P50 > 3*time.Millisecond {
				t.Errorf("%s, %d peers: %v to acquire, want a round trip of 1 ms and jitter", lock, peers, p.Acquire.P50)
			}
			if lock == "2pc" { // its coordinators pause
				continue
			}
			if p.Contended.P50 < p.Acquire.P50 || p.Handoff.Mean < 80*time.Microsecond || p.Handoff.Mean > 3*time.Millisecond {
				t.Errorf("%s, %d peers: contended %v, handoff %v", lock, peers, p.Contended.P50, p.Handoff.Mean)
			}
		}
	}
}

func TestGeography(t *testing.T) {
	d := sim.Geography(sim.MaxZones)
	for a := range d {
		for b := range d[a] {
			same, region := a == b, a/3 == b/3
			rtt := d[a][b] + d[b][a]
			switch {
			case d[a][b] != d[b][a]:
				t.Errorf("zones %d and %d: %v there, %v back", a, b, d[a][b], d[b][a])
			case same && rtt != 200*time.Microsecond, !same && region && rtt != time.Millisecond,
				!region && (rtt < 20*time.Millisecond || rtt > 400*time.Millisecond):
				t.Errorf("zones %d and %d: %v", a, b, rtt)
			}
		}
	}
}
