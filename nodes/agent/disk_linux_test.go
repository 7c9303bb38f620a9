package agent

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"locklab/internal/httpapi"
	"locklab/internal/must"
	"locklab/nodes/diskfault"
)

// TestWhoDoesNotStopIsNotWaitedFor: a pause holds what an end of the process needs, too.
func TestWhoDoesNotStopIsNotWaitedFor(t *testing.T) {
	if err := awaitStopped(os.Getpid()); err == nil {
		t.Error("what runs has stopped")
	}
	cmd := exec.CommandContext(t.Context(), "sleep", "1h")
	must.Do(t, cmd.Start())
	if err := awaitStopped(cmd.Process.Pid); !errors.Is(err, errStillRuns) {
		t.Errorf("of one that runs: %v", err)
	}
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
}

// TestDisk: nodes whose calls are stopped live as others do, and a full disk stays full when
// one starts again.
func TestDisk(t *testing.T) {
	_, c := newAgent(t, nil)
	ctx := t.Context()
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-1", Role: "own", Disk: diskfault.Writes}))
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-3", Role: "own", Disk: diskfault.Syncs}))
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-2", Role: "own"}))
	must.Do(t, c.Pause(ctx, "own-1"))
	must.Do(t, c.Resume(ctx, "own-1"))

	must.Do(t, c.SetDisk(ctx, "own-1", diskfault.Fault{Full: true}))
	if err := c.Restart(ctx, "own-1", RestartOptions{}); !errors.Is(err, ErrStart) || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("on a full disk: %v", err)
	}
	seen, err := c.Disk(ctx, "own-1")
	must.Do(t, err)
	if seen.Hit == 0 || seen.Done != seen.Hit || !seen.Full {
		t.Errorf("seen of a full disk: %+v", seen)
	}
	must.Do(t, c.SetDisk(ctx, "own-1", diskfault.Fault{}))
	must.Do(t, c.Restart(ctx, "own-1", RestartOptions{}))

	slow := diskfault.Fault{Delay: time.Second + time.Nanosecond} // what is set is what is seen
	must.Do(t, c.SetDisk(ctx, "own-3", slow))
	if seen, err := c.Disk(ctx, "own-3"); err != nil || seen != (diskfault.Seen{Fault: slow}) {
		t.Errorf("a slow disk of who syncs nothing: %+v, %v", seen, err)
	}
	if err := c.SetDisk(ctx, "own-3", diskfault.Fault{Delay: -time.Second}); !errors.Is(err, httpapi.ErrInvalid) {
		t.Errorf("a negative delay: %v", err)
	}
	if err := c.SetDisk(ctx, "own-2", slow); !errors.Is(err, httpapi.ErrConflict) || !strings.Contains(err.Error(), "was not started with a disk that can get slow") {
		t.Errorf("one whose calls are not stopped: %v", err)
	}
	if err := c.Start(ctx, NodeSpec{Name: "own-4", Role: "own", Disk: "reads"}); !errors.Is(err, ErrStart) || !strings.Contains(err.Error(), `calls "reads": want syncs or writes`) {
		t.Errorf("unknown calls: %v", err)
	}
}
