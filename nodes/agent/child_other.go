//go:build !linux

package agent

import (
	"os/exec"

	"locklab/internal/posix"
)

// apart puts a child into a process group of its own. The watchdog sees to
// it that it does not survive the agent.
func apart(cmd *exec.Cmd, _ bool) { posix.OwnGroup(cmd) }

// awaitExit has nothing to wait with here that leaves the process to be reaped, or that
// tells when it is stopped.
func awaitExit(int, func() func() bool, func()) {}

// kernelTells says that here only what the agent was asked to do is known: that a pause
// or a resume had its effect is not proven.
const kernelTells = false

func isStopped(int) bool { return false }

// awaitStopped trusts that a stop signal that was sent takes effect at once.
func awaitStopped(int) error { return nil }
