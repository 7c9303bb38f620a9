package agent

import (
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"sync"

	"locklab/nodes/process"
)

// This file sees to it that no node outlives its agent, however that ends.

// starter starts processes from one thread that lives as long as it: the kernel
// sends a child its parent-death signal when the thread that forked it ends, not
// the process, and the Go runtime ends threads as it likes.
type starter struct {
	jobs chan func()
	done chan struct{}
}

func newStarter() *starter {
	s := &starter{jobs: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

// do runs f on the thread and waits for it.
func (s *starter) do(f func() error) error {
	result := make(chan error, 1)
	s.jobs <- func() { result <- f() }
	return <-result
}

// close ends the thread. No child may be left.
func (s *starter) close() {
	close(s.jobs)
	<-s.done
}

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
