package process

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// stopSelf stops the process, as SIGSTOP does, and returns when it goes on. The signal is for
// the thread that asks for it: the kernel acts on it before that thread runs on.
func stopSelf() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP) // its own thread is there
}
