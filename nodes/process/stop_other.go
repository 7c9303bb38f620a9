//go:build !linux

package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// stopSelf stops the process, as SIGSTOP does; where the system stops it a little later, its
// work goes on until then.
func stopSelf() { _ = unix.Kill(os.Getpid(), unix.SIGSTOP) }
