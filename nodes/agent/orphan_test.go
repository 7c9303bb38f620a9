package agent

import (
	"net"
	"strconv"
	"testing"

	"locklab/locks/locktest"
)

func TestNoOrphanSurvivesTheAgent(t *testing.T) {
	for _, mode := range []string{"kernel", "watchdog"} {
		t.Run(mode, func(t *testing.T) {
			report, kill := startHost(t, mode)
			if len(report.PIDs) != 3 {
				t.Fatalf("%d nodes run, want 3", len(report.PIDs))
			}
			for _, pid := range report.PIDs {
				if !alive(pid) {
					t.Fatalf("process %d does not run", pid)
				}
			}
			kill()
			for _, pid := range report.PIDs {
				locktest.Eventually(t, "dead: process "+strconv.Itoa(pid), func() bool { return !alive(pid) })
			}
		})
	}
}

func TestAgentsInProcessesOfTheirOwnShareAMachine(t *testing.T) {
	seen := map[string]bool{}
	for range 3 {
		report, _ := startHost(t, "kernel")
		c := NewClient(report.URL, testToken)
		defer c.Close()
		if _, err := c.Health(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, addr := range report.Addrs {
			if seen[addr] {
				t.Errorf("%s was given out twice", addr)
			}
			seen[addr] = true
			if _, _, err := net.SplitHostPort(addr); err != nil {
				t.Error(err)
			}
		}
	}
}
