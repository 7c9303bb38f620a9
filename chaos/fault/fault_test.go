package fault_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"locklab/chaos/fault"
	"locklab/chaos/link"
)

func inventory() fault.Inventory {
	return fault.Inventory{
		Hosts: []fault.Host{{"a1", "a"}, {"a2", "a"}, {"b1", "b"}, {"c1", "c"}},
		Nodes: []fault.Node{{"master-a", "master", "a1"}, {"redis-a", "redis", "a2"}, {"redis-b", "redis", "b1"}, {"raft-c", "raft", "c1"}},
	}
}

type resolver struct{ holder string }

func (r resolver) Holder(context.Context) (string, error) { return r.holder, nil }
func (resolver) Leader(context.Context) (string, error)   { return "raft-c", nil }

func plan(t testing.TB, s fault.Spec) fault.Plan {
	t.Helper()
	p, err := fault.Make(context.Background(), "f", s, inventory(), resolver{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPartitionHitsBothEndsOfTheTraffic(t *testing.T) {
	hold := func(way link.Direction, to ...string) []link.Impairment {
		return []link.Impairment{{ID: "f/" + string(way), Kind: link.Hold, Direction: way, ToHosts: to}}
	}
	for name, c := range map[string]struct {
		spec fault.Spec
		want map[string][]link.Impairment
	}{
		"both ways": {
			fault.Spec{Kind: "partition", Mode: "hold", Between: []string{"zone:a", "zone:c"}},
			map[string][]link.Impairment{
				"a1": hold(link.Both, "c1"), "a2": hold(link.Both, "c1"), "c1": hold(link.Both, "a1", "a2"),
			},
		},
		"one way": {
			fault.Spec{Kind: "partition", Mode: "hold", From: "zone:a", To: "host:c1"},
			map[string][]link.Impairment{
				"a1": hold(link.Up, "c1"), "a2": hold(link.Up, "c1"), "c1": hold(link.Down, "a1", "a2"),
			},
		},
		"others": {
			fault.Spec{Kind: "partition", Mode: "hold", From: "others", To: "role:redis"},
			map[string][]link.Impairment{
				"a1": hold(link.Up, "a2", "b1"), "c1": hold(link.Up, "a2", "b1"),
				"a2": hold(link.Down, "a1", "c1"), "b1": hold(link.Down, "a1", "c1"),
			},
		},
		"zones": {
			fault.Spec{Kind: "partition", Mode: "hold", Between: []string{"zones"}},
			map[string][]link.Impairment{
				"a1": hold(link.Both, "b1", "c1"), "a2": hold(link.Both, "b1", "c1"),
				"b1": hold(link.Both, "a1", "a2", "c1"), "c1": hold(link.Both, "a1", "a2", "b1"),
			},
		},
	} {
		if diff := cmp.Diff(c.want, plan(t, c.spec).Links); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestImpairmentsHitExactlyThePairs compares with the definition: traffic from x
// to y is the requests of x's links to y and the answers of y's links to x.
func TestImpairmentsHitExactlyThePairs(t *testing.T) {
	selectors := []string{"zone:a", "zone:b", "host:a1", "role:redis", "node:raft-c"}
	rapid.Check(t, func(t *rapid.T) {
		s := fault.Spec{Kind: "partition", Mode: "drop", From: rapid.SampledFrom(selectors).Draw(t, "from")}
		s.To = rapid.SampledFrom(append(selectors, "others")).Draw(t, "to")
		if rapid.Bool().Draw(t, "both") {
			s.Between, s.From, s.To = []string{s.From, s.To}, "", ""
		}
		p, err := fault.Make(context.Background(), "f", s, inventory(), resolver{})
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
	failure := plan(t, fault.Spec{Kind: "zone-failure", Target: "zone:a", LoseData: []string{"redis"}})
	if !slices.Equal(failure.Kill, []string{"master-a", "redis-a"}) || !slices.Equal(failure.Wipe, []string{"redis-a"}) {
		t.Errorf("%+v", failure)
	}
	if failure.Evidence != fault.Silent || len(failure.Pairs) != 8 { // two hosts with two others, both ways
		t.Errorf("%+v", failure)
	}
	if p := plan(t, fault.Spec{Kind: "kill", Target: "leader"}); !slices.Equal(p.Kill, []string{"raft-c"}) {
		t.Errorf("%+v", p)
	}
	if p := plan(t, fault.Spec{Kind: "pause", Target: "role:redis"}); !slices.Equal(p.Pause, []string{"redis-a", "redis-b"}) {
		t.Errorf("%+v", p)
	}
	_, err := fault.Make(context.Background(), "f", fault.Spec{Kind: "kill", Target: "holder"}, inventory(), resolver{})
	if !errors.Is(err, fault.ErrNoTarget) {
		t.Errorf("nobody holds: %v", err)
	}
	if p, err := fault.Make(context.Background(), "f", fault.Spec{Kind: "kill", Target: "holder"}, inventory(), resolver{"master-a"}); err != nil || p.Kill[0] != "master-a" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestWindows(t *testing.T) {
	flap := fault.Spec{Kind: "flap", Down: 300 * time.Millisecond, Up: 700 * time.Millisecond}
	want := []fault.Window{{time.Second, 1300 * time.Millisecond}, {2 * time.Second, 2200 * time.Millisecond}}
	if got := fault.Windows(flap, time.Second, 2200*time.Millisecond); !slices.Equal(got, want) {
		t.Errorf("flap: %v", got)
	}
	if got := fault.Windows(fault.Spec{Kind: "restart"}, 1, 5); !slices.Equal(got, []fault.Window{{1, 1}}) {
		t.Errorf("restart: %v", got)
	}
	if got := fault.Windows(fault.Spec{Kind: "kill"}, 1, 5); !slices.Equal(got, []fault.Window{{1, 5}}) {
		t.Errorf("kill: %v", got)
	}
}

func TestKindsAreDescribed(t *testing.T) {
	for _, k := range fault.Kinds() {
		if k.Name == "" || k.Summary == "" || len(k.Fields) == 0 {
			t.Errorf("%+v", k)
		}
	}
}
