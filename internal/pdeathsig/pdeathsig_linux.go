// Package pdeathsig starts programs that do not outlive their parent, even if it is killed.
package pdeathsig

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Set has the kernel kill the program, which this goroutine is to start, when its thread ends. release lets go of the
// thread: call it once the program has ended.
func Set(cmd *exec.Cmd) (release func()) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
