//go:build unix

package agent

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"locklab/internal/httpapi"
	"locklab/internal/must"
	"locklab/internal/seed"
)

// TestManyControllersAtOnce lets operations meet in every order: none may hang,
// leave a process or break the numbers of the events.
func TestManyControllersAtOnce(t *testing.T) {
	a, c := newAgent(t, func(cfg *Config) { cfg.StopGrace = 20 * time.Millisecond })
	events := collect(t, c)
	pids := sync.Map{}
	var wg sync.WaitGroup
	for worker := range 6 {
		random := seed.Seed(worker).Rand()
		wg.Go(func() {
			for range 25 {
				name, role := fmt.Sprintf("own-%d", random.IntN(2)), "own"
				if random.IntN(2) == 0 {
					name, role = "foreign-1", "foreign"
				}
				var err error
				switch random.IntN(7) {
				case 0, 1:
					err = c.Start(t.Context(), NodeSpec{Name: name, Role: role})
				case 2:
					err = c.Kill(t.Context(), name)
				case 3:
					err = c.Stop(t.Context(), name)
				case 4:
					err = c.Pause(t.Context(), name)
				case 5:
					err = c.Resume(t.Context(), name)
				case 6:
					err = c.Restart(t.Context(), name, RestartOptions{Wipe: random.IntN(2) == 0})
				}
				for _, n := range a.Nodes() {
					pids.Store(n.PID, true)
				}
				_, refused := errors.AsType[*httpapi.Error](err)
				switch {
				case err == nil, errors.Is(err, httpapi.ErrConflict), errors.Is(err, httpapi.ErrNotFound):
				case refused && errors.Is(err, ErrStart): // somebody ended it meanwhile
				default:
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all := events.drained()
	if len(all) == 0 {
		t.Error("nothing has happened")
	}
	must.Do(t, a.Close())
	pids.Range(func(pid, _ any) bool {
		if pid != 0 && alive(pid.(int)) {
			t.Errorf("process %d is left", pid)
		}
		return true
	})
}
