package program

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the program with the thread that starts it.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
