package agent

import (
	"fmt"
	"io"
	"os/exec"
	"sync"

	"locklab/nodes/process"
)

// guard tells the watchdog process, where there is one, which processes to end
// when the agent dies.
type guard struct {
	mu  sync.Mutex
	cmd *exec.Cmd
	to  io.WriteCloser
}

// newGuard starts the watchdog, or nothing where the kernel does its work.
func newGuard(cfg Config) (*guard, error) {
	if !cfg.watchdog {
		return &guard{}, nil
	}
	cmd := exec.Command(cfg.Executable, "node", "watchdog") //nolint:noctx // it outlives everything on purpose
	apart(cmd, true)
	to, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start watchdog: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start watchdog: %w", err)
	}
	return &guard{cmd: cmd, to: to}, nil
}

func (g *guard) started(pid int) { g.tell(pid, true) }
func (g *guard) ended(pid int)   { g.tell(pid, false) }

func (g *guard) tell(pid int, started bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.to != nil {
		_, _ = io.WriteString(g.to, process.WatchdogLine(pid, started)) // without a watchdog nodes still end with their stdin
	}
}

// close ends the watchdog. No child may be left.
func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.to != nil {
		_ = g.to.Close() // its end is what the watchdog waits for
		_ = g.cmd.Wait() // nobody asks how it ended
		g.to = nil
	}
}
