package process

import (
	"os/exec"
	"syscall"
)

// DieWithParent has the kernel kill the program when the thread that starts it ends.
func DieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
