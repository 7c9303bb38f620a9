package lab

import (
	"testing"

	"locklab/workloads/check"
)

// TestFaultsOfAMoment: what has only just ended is named, with when it did.
func TestFaultsOfAMoment(t *testing.T) {
	const ms = 1_000_000
	f := &check.Findings{Faults: []check.Fault{{Kind: "zone-partition", Target: "a | c", BeganNS: 1000 * ms, EndedNS: 2000 * ms}}}
	for at, want := range map[int64]string{
		999: "", 1999: "zone-partition of a | c in force since 1,000 ms", 2006: "zone-partition of a | c ended 6 ms before", 3000: "",
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
