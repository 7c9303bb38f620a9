package agent

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"locklab/internal/httpapi"
	"locklab/nodes/diskfault"
)

// maxDiskDelay bounds how slow a disk can be made.
const maxDiskDelay = time.Minute

// watched is that calls of a process are stopped, so that its disk can get slow or full. A nil
// one is that none are.
type watched struct {
	calls diskfault.Calls
	disk  *diskfault.Disk
}

// watched is how the next incarnation is started. The disk is the machine's, not the process's:
// what is wrong with it outlives restarts. The caller has locked the node.
func (n *node) watched() *watched {
	if n.calls == "" {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.disk == nil {
		n.disk = diskfault.New(n.dir)
	}
	return &watched{n.calls, n.disk}
}

// join has the executable start the command's program, with its calls stopped.
func (w *watched) join(cmd *exec.Cmd, p *pipes, executable string) (err error) {
	if w == nil {
		return nil
	}
	if err := diskfault.Missing(); err != nil {
		return err
	}
	if p.disk, p.diskKept, err = diskfault.Sockets(); err != nil {
		return err
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, p.disk)
	args := diskfault.Command(2+len(cmd.ExtraFiles), w.calls, cmd.Path, cmd.Args[1:])
	cmd.Path, cmd.Args = executable, append([]string{executable, "node", "disk", "--"}, args...)
	return nil
}

// faulty is the disk of a node that can be made slow or full.
func (n *node) faulty() (*diskfault.Disk, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.disk == nil {
		return nil, fmt.Errorf("node %s was not started with a disk that can get slow or full: %w", n.name, httpapi.ErrConflict)
	}
	return n.disk, nil
}

// setDisk makes the node's disk slow or full, or neither.
func (n *node) setDisk(_ context.Context, fault diskfault.Fault) error {
	if fault.Delay < 0 || fault.Delay > maxDiskDelay {
		return fmt.Errorf("disk: delay_ns %d is out of range: want 0 to %d: %w", fault.Delay, maxDiskDelay, httpapi.ErrInvalid)
	}
	disk, err := n.faulty()
	if err == nil {
		disk.Set(fault)
	}
	return err
}

// diskSeen says what is wrong with the node's disk, and what that has done since it was set.
func (n *node) diskSeen() (any, error) {
	disk, err := n.faulty()
	if err != nil {
		return nil, err
	}
	return disk.Seen(), nil
}
