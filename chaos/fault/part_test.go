package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"locklab/chaos/fault"
)

// TestPartsOfARole are the first node, the fewest that are more than half, and all others.
func TestPartsOfARole(t *testing.T) {
	inv := func(redis, sentinels int) (inv fault.Inventory) {
		inv.Servers = []string{"redis", "raft"}
		for _, role := range []string{"master", "redis", "sentinel"} {
			for i := range map[string]int{"master": 2, "redis": redis, "sentinel": sentinels}[role] {
				name := fmt.Sprintf("%s-%d", role, i+1)
				inv.Hosts = append(inv.Hosts, fault.Host{Name: "host-" + name, Zone: "a"})
				inv.Nodes = append(inv.Nodes, fault.Node{Name: name, Role: role, Host: "host-" + name})
			}
		}
		return inv
	}
	for _, c := range []struct {
		target string
		redis  int
		want   string // "" is no target
	}{
		{"one:redis", 5, "redis-1"},
		{"one:server", 5, "redis-1"},
		{"one:server", 0, ""},
		{"majority:redis", 5, "redis-1 redis-2 redis-3"},
		{"minority:redis", 5, "redis-4 redis-5"},
		{"majority:server", 4, "redis-1 redis-2 redis-3"},
		{"minority:server", 4, "redis-4"},
		{"majority:server", 2, "redis-1 redis-2"},
		{"minority:server", 2, ""},
		{"majority:redis", 1, "redis-1"},
		{"minority:redis", 1, ""},
		{"majority:raft", 5, ""},
	} {
		p, err := read(t, "kill, target: "+c.target).Plan(t.Context(), "f", inv(c.redis, 3), resolver{})
		if got := strings.Join(p.Kill, " "); got != c.want || errors.Is(err, fault.ErrNoTarget) != (c.want == "") {
			t.Errorf("%s of %d: %q, %v; want %q", c.target, c.redis, got, err, c.want)
		}
	}
	p, err := read(t, "partition, mode: hold, from: minority:redis, to: role:sentinel").Plan(t.Context(), "f", inv(3, 1), resolver{})
	if want := []fault.Pair{{From: "host-redis-3", To: "host-sentinel-1"}}; err != nil || fmt.Sprint(p.Pairs) != fmt.Sprint(want) {
		t.Errorf("%v, %v; want %v", p.Pairs, err, want)
	}
}
