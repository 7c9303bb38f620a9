package fault_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"locklab/chaos/fault"
	"locklab/chaos/link"
	"locklab/internal/must"
	"locklab/internal/strictyaml"
	"locklab/workloads/history"
)

func inventory() fault.Inventory {
	return fault.Inventory{
		Hosts: []fault.Host{{"a1", "a"}, {"a2", "a"}, {"b1", "b"}, {"c1", "c"}},
		Nodes: []fault.Node{{"master-a", "master", "a1"}, {"redis-a", "redis", "a2"}, {"redis-b", "redis", "b1"}, {"raft-c", "raft", "c1"}},
	}
}

type resolver struct{ holder string }

// Holder of r2 is always the same.
func (r resolver) Holder(_ context.Context, resource string) (string, error) {
	if resource == "r2" {
		return "redis-b", nil
	}
	return r.holder, nil
}

func (resolver) Leader(context.Context) (string, error)  { return "raft-c", nil }
func (resolver) Primary(context.Context) (string, error) { return "redis-a", nil }

// read reads a fault as it stands in a scenario.
func read(t testing.TB, text string) fault.Fault {
	t.Helper()
	doc, err := strictyaml.Parse("f.yaml", []byte("{fault: "+text+"}"), errors.ErrUnsupported)
	must.Do(t, err)
	f, _ := fault.Read(doc.Root, "")
	must.Do(t, doc.Err())
	return f
}

func plan(t testing.TB, text string) fault.Plan {
	t.Helper()
	p, err := read(t, text).Plan(t.Context(), "f", inventory(), resolver{})
	must.Do(t, err)
	return p
}

func TestPartitionHitsBothEndsOfTheTraffic(t *testing.T) {
	hold := func(way link.Direction, to ...string) []link.Impairment {
		return []link.Impairment{{ID: "f/" + string(way), Effect: new(link.Hold), Direction: way, ToHosts: to}}
	}
	for name, c := range map[string]struct {
		fault string
		want  map[string][]link.Impairment
	}{
		"both ways": {
			"partition, mode: hold, between: [zone:a, zone:c]",
			map[string][]link.Impairment{
				"a1": hold(link.Both, "c1"), "a2": hold(link.Both, "c1"), "c1": hold(link.Both, "a1", "a2"),
			},
		},
		"one way": {
			"partition, mode: hold, from: zone:a, to: host:c1",
			map[string][]link.Impairment{
				"a1": hold(link.Up, "c1"), "a2": hold(link.Up, "c1"), "c1": hold(link.Down, "a1", "a2"),
			},
		},
		"others": {
			"partition, mode: hold, from: others, to: role:redis",
			map[string][]link.Impairment{
				"a1": hold(link.Up, "a2", "b1"), "c1": hold(link.Up, "a2", "b1"),
				"a2": hold(link.Down, "a1", "c1"), "b1": hold(link.Down, "a1", "c1"),
			},
		},
		"the primary": {
			"partition, mode: hold, between: [primary, role:redis]",
			map[string][]link.Impairment{"a2": hold(link.Both, "b1"), "b1": hold(link.Both, "a2")},
		},
		"zones": {
			"partition, mode: hold, between: [zones]",
			map[string][]link.Impairment{
				"a1": hold(link.Both, "b1", "c1"), "a2": hold(link.Both, "b1", "c1"),
				"b1": hold(link.Both, "a1", "a2", "c1"), "c1": hold(link.Both, "a1", "a2", "b1"),
			},
		},
	} {
		if diff := cmp.Diff(c.want, plan(t, c.fault).Links, cmpopts.IgnoreUnexported(link.Hold{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestImpairmentsHitExactlyThePairs compares with the definition: traffic from x
// to y is the requests of x's links to y and the answers of y's links to x.
func TestImpairmentsHitExactlyThePairs(t *testing.T) {
	outer := t
	selectors := []string{"zone:a", "zone:b", "host:a1", "role:redis", "node:raft-c"}
	rapid.Check(t, func(t *rapid.T) {
		from, to := rapid.SampledFrom(selectors).Draw(t, "from"), rapid.SampledFrom(append(selectors, "others")).Draw(t, "to")
		if from == to {
			return // refused
		}
		sides := fmt.Sprintf("from: %s, to: %s", from, to)
		if rapid.Bool().Draw(t, "both") {
			sides = fmt.Sprintf("between: [%s, %s]", from, to)
		}
		p, err := read(outer, "partition, mode: drop, "+sides).Plan(context.Background(), "f", inventory(), resolver{})
		if errors.Is(err, fault.ErrNoTarget) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		hit := func(host, to string, way link.Direction) bool {
			return slices.ContainsFunc(p.Links[host], func(i link.Impairment) bool {
				return slices.Contains(i.ToHosts, to) && (i.Direction == link.Both || i.Direction == way)
			})
		}
		for _, x := range inventory().Hosts {
			for _, y := range inventory().Hosts {
				want := slices.Contains(p.Pairs, fault.Pair{From: x.Name, To: y.Name})
				if hit(x.Name, y.Name, link.Up) != want || hit(y.Name, x.Name, link.Down) != want {
					t.Fatalf("%s -> %s: want hit %v, have %+v", x.Name, y.Name, want, p.Links)
				}
			}
		}
	})
}

func TestProcessFaults(t *testing.T) {
	failure := plan(t, "zone-failure, target: zone:a, lose_data: [redis]")
	if !slices.Equal(failure.Kill, []string{"master-a", "redis-a"}) || !slices.Equal(failure.Wipe, []string{"redis-a"}) {
		t.Errorf("%+v", failure)
	}
	if failure.Proof == nil || len(failure.Pairs) != 8 { // two hosts with two others, both ways
		t.Errorf("%+v", failure)
	}
	if p := plan(t, "kill, target: leader"); !slices.Equal(p.Kill, []string{"raft-c"}) || p.Proof != nil {
		t.Errorf("%+v", p)
	}
	if p := plan(t, "pause, target: role:redis"); !slices.Equal(p.Pause, []string{"redis-a", "redis-b"}) {
		t.Errorf("%+v", p)
	}
	killed := read(t, "kill, target: holder")
	if _, err := killed.Plan(t.Context(), "f", inventory(), resolver{}); !errors.Is(err, fault.ErrNoTarget) {
		t.Errorf("nobody holds: %v", err)
	}
	if p, err := killed.Plan(t.Context(), "f", inventory(), resolver{"master-a"}); err != nil || p.Kill[0] != "master-a" {
		t.Errorf("%+v, %v", p, err)
	}
	if p := plan(t, "kill, target: holder-of:r2"); !slices.Equal(p.Kill, []string{"redis-b"}) {
		t.Errorf("%+v", p)
	}
}

// TestAim: it is the same whichever side is named first, and has the node that was found.
func TestAim(t *testing.T) {
	for text, want := range map[string]history.Aim{
		"partition, mode: hold, between: [holder, others]": {At: history.AimHolder, Node: "master-a"},
		"partition, mode: hold, between: [others, holder]": {At: history.AimHolder, Node: "master-a"},
		"partition, mode: hold, between: [leader, holder]": {At: history.AimHolder, Node: "master-a"},
		"latency, delay: 5ms, from: others, to: primary":   {At: history.AimPrimary, Node: "redis-a", OneWay: true},
		"clock-step, by: 1m, target: holder-of:r2":         {At: history.AimHolder, Resource: "r2", Node: "redis-b"},
		"pause, target: leader, point: granted":            {At: history.AimLeader, Node: "raft-c", Point: history.PointGranted},
		"pause, target: role:redis":                        {},
	} {
		p, err := read(t, text).Plan(t.Context(), "f", inventory(), resolver{"master-a"})
		if err != nil || p.Aim != want {
			t.Errorf("%s: %+v, %v; want %+v", text, p.Aim, err, want)
		}
	}
}

// TestCuts: what the words of a scenario cut is in the list from which rules and their facts are made.
func TestCuts(t *testing.T) {
	var got []string
	for _, text := range []string{
		"partition, mode: reset, between: [zones]", "partition, mode: hold, between: [zones]",
		"external, run: [fis], effect: partition, target: zone:a", "flap, mode: hold, between: [zones], down: 300ms, up: 700ms",
		"partition, mode: drop, from: zone:a, to: others",
	} {
		got = append(got, read(t, text).Cut)
	}
	if diff := cmp.Diff(fault.Cuts(), got); diff != "" {
		t.Error(diff)
	}
}

func TestWindows(t *testing.T) {
	flap := "flap, between: [zones], mode: drop, down: 300ms, up: 700ms"
	for _, c := range []struct {
		fault       string
		from, until time.Duration
		want        []fault.Window
	}{
		{flap, time.Second, 2200 * time.Millisecond, []fault.Window{{time.Second, 1300 * time.Millisecond}, {2 * time.Second, 2200 * time.Millisecond}}},
		{flap, time.Second, 2001 * time.Millisecond, []fault.Window{{time.Second, 1300 * time.Millisecond}}}, // nobody would see a millisecond
		{"restart, target: holder", 1, 5, []fault.Window{{1, 1}}},
		{"kill, target: holder", 1, 5, []fault.Window{{1, 5}}},
	} {
		if got := read(t, c.fault).Windows(c.from, c.until); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.fault, got, c.want)
		}
	}
}
