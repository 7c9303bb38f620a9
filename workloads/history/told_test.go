package history

import "testing"

// TestFaultText: a fault reads as a piece of a sentence, whatever it is aimed at.
func TestFaultText(t *testing.T) {
	for _, c := range []struct{ kind, target, want string }{
		{"partition", TargetZones, "partition between zones"},
		{"partition", "zone:a <-> others", "partition between zone:a and others"},
		{"latency", "zone:a -> host:redis-c-1", "latency from zone:a to host:redis-c-1"},
		{"kill", "holder (master-c)", "kill of holder (master-c)"},
		{"standstill", TargetController, "standstill of the controller"},
		{"standstill", TargetAgent + "redis-a-1", "standstill of the agent of host redis-a-1"},
		{"by-hand", "", "by-hand"},
	} {
		if have := FaultText(c.kind, c.target).String(); have != c.want {
			t.Errorf("the fault %s of %q is told as %q, want %q", c.kind, c.target, have, c.want)
		}
	}
}
