package lab

import (
	"testing"

	"locklab/workloads/check"
)

// TestFaultsOfAMoment: what has only just ended is named, with when it did.
func TestFaultsOfAMoment(t *testing.T) {
	const ms = 1_000_000
	f := &check.Findings{Faults: []check.Fault{{Kind: "zone-partition", Target: "a | c", AskedNS: 950 * ms, BeganNS: 1000 * ms, EndedNS: 2000 * ms}}}
	for at, want := range map[int64]string{
		940: "", 999: "zone-partition of a | c asked for at 950 ms, and proven to be in force later", 1999: "zone-partition of a | c in force since 1,000 ms", 2000: "zone-partition of a | c ended less than 1 ms before", 2006: "zone-partition of a | c ended 6 ms before", 3000: "",
	} {
		var said string
		for _, name := range inForce(f, at*ms) {
			said += name.String()
		}
		if said != want {
			t.Errorf("at %d ms: %q, want %q", at, said, want)
		}
	}
}

// TestFaultsOfWhatLasts: it is said for how much of it a fault was in force.
func TestFaultsOfWhatLasts(t *testing.T) {
	const ms = 1_000_000
	f := &check.Findings{Faults: []check.Fault{{Kind: "zone-partition", Target: "a | c", AskedNS: 950 * ms, BeganNS: 1000 * ms, EndedNS: 2000 * ms}}}
	for _, tt := range []struct {
		at, lasts int64
		want      string
	}{
		{100, 800, ""},
		{900, 80, "zone-partition of a | c asked for at 950 ms, and proven to be in force later"},
		{900, 200, "zone-partition of a | c in force for 100 ms of these 200 ms, since 1,000 ms"},
		{1100, 200, "zone-partition of a | c in force all the while, since 1,000 ms"},
		{900, 1234, "zone-partition of a | c in force for 1 s of these 1.2 s, since 1,000 ms"},
		{2100, 200, "zone-partition of a | c ended 100 ms before"},
	} {
		var said string
		for _, name := range Faults(f, check.Example{AtNS: tt.at * ms, LastsNS: tt.lasts * ms}) {
			said += name.String()
		}
		if said != tt.want {
			t.Errorf("from %d ms for %d ms: %q, want %q", tt.at, tt.lasts, said, tt.want)
		}
	}
}
