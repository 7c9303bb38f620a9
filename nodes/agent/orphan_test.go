package agent

import (
	"strconv"
	"testing"

	"locklab/locks/locktest"
)

func TestNoOrphanSurvivesTheAgent(t *testing.T) {
	for _, mode := range []string{"kernel", "watchdog"} {
		t.Run(mode, func(t *testing.T) {
			pids, kill := startHost(t, mode)
			if len(pids) != 3 {
				t.Fatalf("%d nodes run, want 3", len(pids))
			}
			for _, pid := range pids {
				if !alive(pid) {
					t.Fatalf("process %d does not run", pid)
				}
			}
			kill()
			for _, pid := range pids {
				locktest.Eventually(t, "dead: process "+strconv.Itoa(pid), func() bool { return !alive(pid) })
			}
		})
	}
}
