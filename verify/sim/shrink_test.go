package sim_test

import (
	"reflect"
	"testing"
	"time"

	"locklab/verify/sim"
)

// TestShrink makes a run with several faults among five peers as small as it must be.
func TestShrink(t *testing.T) {
	cfg := sim.Config{Peers: 5, Seed: 11, Load: load(), Faults: []sim.Fault{
		{Kind: sim.Crash, From: 500 * time.Millisecond, Until: 700 * time.Millisecond, A: []int{1}},
		{Kind: sim.Slow, From: time.Second, Until: 2 * time.Second, A: []int{0}, B: []int{4}, Delay: 3 * time.Millisecond},
		{Kind: sim.Partition, From: 2345678901, Until: 5432109876, A: []int{0, 3}, B: []int{1, 2, 4}},
		{Kind: sim.Crash, From: 6 * time.Second, Until: 7 * time.Second, A: []int{2}},
	}}
	s := simulator(t, "multiphase")
	m := sim.Shrink(s, cfg, sim.Overlap)
	c := m.Config
	if len(c.Faults) != 1 || c.Faults[0].Kind != sim.Partition || c.Peers != 2 {
		t.Errorf("%d peers, faults %v", c.Peers, c.Faults)
	}
	if f := c.Faults[0]; f.From >= time.Second || f.Until-f.From > 3*time.Second || m.Events > 300 {
		t.Errorf("%v, %d events", f, m.Events)
	}
	if r := simulator(t, "multiphase")(c); r.Bad() == nil || *r.Bad() != m.Finding {
		t.Errorf("run again it shows %v, not %v", r.Bad(), m.Finding)
	}
	if again := sim.Shrink(s, cfg, sim.Overlap); !reflect.DeepEqual(m, again) {
		t.Errorf("shrunk again: %+v, not %+v", again, m)
	}
}

// TestShrinkToNoFault: the literal rules need none.
func TestShrinkToNoFault(t *testing.T) {
	s := simulator(t, "multiphase:rule=literal")
	plan := sim.Plan{Config: sim.Config{Seed: 1, Load: load()}, Seeds: 200, Kinds: []sim.Kind{sim.Slow}}
	o := campaign(t, "multiphase:rule=literal", plan)
	if !o.Bad() {
		t.Fatal("nothing found")
	}
	m := sim.Shrink(s, plan.Case(o.Groups[0].First), sim.Overlap)
	if m.Finding.Kind != sim.Overlap || len(m.Config.Faults) > 0 || m.Config.Peers != 3 {
		t.Errorf("%+v", m)
	}
}
