package agent

import (
	"errors"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"locklab/internal/posix"
	"locklab/locks/clock"
)

// apart puts a child into a process group of its own and, unless a watchdog
// does it, has the kernel kill it when the thread that started it ends.
func apart(cmd *exec.Cmd, watchdog bool) {
	posix.OwnGroup(cmd)
	if !watchdog {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
}

// What waitid says of a process (CLD_STOPPED, CLD_CONTINUED).
const (
	codeStopped   = 5
	codeContinued = 6
	codeNothing   = 0 // nothing yet
)

// stillEvery is how often a process that stands still is looked at.
const stillEvery = 10 * time.Millisecond

// awaitExit returns when the process has ended, leaving it to be reaped, so that
// its number and its group still are its own. Until then it says when the process was
// stopped and when it went on, by whoever's hand. stopped returns what says that the
// agent let it go on since: the kernel forgets that once the process is stopped again.
func awaitExit(pid int, stopped func() (letGo func() bool), continued func()) {
	for waitid(pid, unix.WEXITED|unix.WSTOPPED) == codeStopped {
		letGo := stopped()
		for {
			code := waitid(pid, unix.WEXITED|unix.WCONTINUED|unix.WNOHANG)
			if code == codeContinued || code == codeNothing && letGo() {
				break
			}
			if code != codeNothing {
				return
			}
			<-clock.System().NewTimer(stillEvery).C()
		}
		continued()
	}
}

// awaitStopped returns when every thread of the process has stopped. It does not wait for ever:
// one with a call that is held stops only once that is answered.
func awaitStopped(pid int) error {
	for deadline := clock.Mono() + int64(answerTime); ; {
		switch code := waitid(pid, unix.WSTOPPED|unix.WEXITED|unix.WNOHANG); {
		case code == codeStopped:
			return nil
		case code != codeNothing:
			return errEnded
		case clock.Mono() >= deadline:
			return errStillRuns
		}
		<-clock.System().NewTimer(time.Millisecond).C()
	}
}

// kernelTells says that isStopped knows.
const kernelTells = true

// isStopped says whether the process stands still now.
func isStopped(pid int) bool { return waitid(pid, unix.WSTOPPED|unix.WNOHANG) == codeStopped }

func waitid(pid, what int) (code int32) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, what|unix.WNOWAIT, nil)
		if err == nil {
			return info.Code
		}
		if !errors.Is(err, unix.EINTR) {
			return -1
		}
	}
}
