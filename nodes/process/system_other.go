//go:build !linux

package process

import (
	"os"
	"os/exec"

	"locklab/internal/posix"
)

// dieWithParent does nothing here: the node ends its server when the agent's end of standard input closes.
func dieWithParent(*exec.Cmd) {}

// stopSelf stops the process, as SIGSTOP does; where the system stops it a little later, its
// work goes on until then.
func stopSelf() { _ = posix.Kill(os.Getpid(), posix.SIGSTOP) }
