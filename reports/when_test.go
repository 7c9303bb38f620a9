package reports

import (
	"testing"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// TestWhenSaysHowMuchBroke: the loss of one process is not that of most of them.
func TestWhenSaysHowMuchBroke(t *testing.T) {
	nodes := []result.NodeLoad{{Node: "master-a", Role: "master", Zone: "a"}, {Node: "master-c", Role: "master", Zone: "c"}}
	for _, name := range []string{"redis-1", "redis-2", "redis-3", "redis-4", "redis-5"} {
		nodes = append(nodes, result.NodeLoad{Node: name, Role: "redis", Zone: "a"})
	}
	fault := func(kind, target string, from, to float64, hit ...string) result.Fault {
		return result.Fault{Kind: kind, Target: target, BeganMS: from, EndedMS: to, Nodes: hit, Proven: true}
	}
	for want, faults := range map[string][]result.Fault{
		"with nothing broken":                          nil,
		"when the one that held it was killed":         {fault("kill", "holder (master-a)", 1, 2, "master-a")},
		"when its leader stood still":                  {fault("pause", "leader (redis-1)", 1, 2, "redis-1")},
		"when its primary was killed":                  {fault("kill", "primary (redis-1)", 1, 2, "redis-1")},
		"when a process was killed":                    {fault("kill", "one:master", 1, 2, "master-c")},
		"when 2 processes were killed":                 {fault("kill", "majority:master", 1, 2, "master-a", "master-c")},
		"when 1 of its 5 redis servers was restarted":  {fault("restart", "one:server", 1, 2, "redis-1"), fault("restart", "one:server", 3, 4, "redis-2")},
		"when 2 of its 5 redis servers were killed":    {fault("kill", "one:server", 1, 4, "redis-1"), fault("kill", "one:server", 3, 6, "redis-2")},
		"when 3 of its 5 redis servers were killed":    {fault("kill", "majority:server", 1, 2, "redis-1", "redis-2", "redis-3")},
		"when 4 of its 5 redis servers were killed":    {fault("restart", "majority:server", 1, result.Never, "redis-1", "redis-2", "redis-3", "redis-4")},
		"when 5 of its 5 redis servers were restarted": {fault("restart", "role:redis", 1, 2, "redis-1", "redis-2", "redis-3", "redis-4", "redis-5")},
		"under restart-one":                            {fault("kill", "minority:server", 1, 2, "redis-1"), fault("restart", "one:server", 2, 3, "redis-2")},
	} {
		say, err := lang.Of(lang.EnglishTag)
		if err != nil {
			t.Fatal(err)
		}
		if got := when(say, result.Row{Scenario: "restart-one", Nodes: nodes, Faults: faults}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	again := result.Row{Repeats: 3, Nodes: nodes, Faults: []result.Fault{
		fault("kill", "leader", 1, 2, "redis-1"), fault("kill", "leader", 1, 2, "redis-2"), fault("kill", "leader", 1, 2, "redis-3"),
	}}
	if got := when(lang.English(), again); got != "when its leader was killed" {
		t.Errorf("three runs, in each of which one was killed: %q", got)
	}
	missed := result.Row{Scenario: "holder-kill", Nodes: nodes, Faults: []result.Fault{{Kind: "kill", Target: "holder (master-a)", BeganMS: 1, EndedMS: 2, Nodes: []string{"master-a"}}}}
	if got := when(lang.English(), missed); got != "under holder-kill" {
		t.Errorf("a kill that may have hit no holder: %q", got)
	}
	played := result.Row{Scenario: "play", Played: true, Nodes: nodes, Faults: []result.Fault{fault("partition", "zone:a and others", 1, 2)}}
	if got := when(lang.English(), played); got != "under play" {
		t.Errorf("a session in which something was cut for a while: %q", got)
	}
	for want, target := range map[string]string{
		"when the network was cut": "zone:a <-> others",
		"under late-release":       "holder-of:r1 -> role:redis (master-c)",
	} {
		if got := when(lang.English(), result.Row{Scenario: "late-release", Faults: []result.Fault{fault("partition", target, 1, 2)}}); got != want {
			t.Errorf("a partition of %s: %q, want %q", target, got, want)
		}
	}
	one := result.Row{Nodes: []result.NodeLoad{{Node: "redis-1", Role: "redis", Zone: "a"}}, Faults: []result.Fault{fault("restart", "role:redis", 1, 2, "redis-1")}}
	if got := when(lang.English(), one); got != "when its only redis server was restarted" {
		t.Error(got)
	}
}
