//go:build !linux

package process

import (
	"os"

	"locklab/internal/posix"
)

// stopSelf stops the process, as SIGSTOP does; where the system stops it a little later, its
// work goes on until then.
func stopSelf() { _ = posix.Kill(os.Getpid(), posix.SIGSTOP) }
