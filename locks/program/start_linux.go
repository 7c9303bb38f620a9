package program

import (
	"os/exec"
	"runtime"
	"syscall"
)

// spawn starts the program such that the kernel kills it with this process: a lock that
// outlived its master would go on extending what nobody holds. The kernel means the thread,
// so the goroutine keeps it until the program has ended.
func spawn(cmd *exec.Cmd) (ended <-chan error, started error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	begun, end := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		begun <- err
		if err == nil {
			end <- cmd.Wait()
		}
	}()
	started = <-begun
	return end, started
}
