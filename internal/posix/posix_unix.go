//go:build unix

package posix

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// Signals that stop a process and let it go on.
const (
	SIGSTOP = syscall.SIGSTOP
	SIGCONT = syscall.SIGCONT
)

// Missing says what this system lacks to run nodes; nil for nothing.
func Missing() error { return nil }

// Kill sends a signal to a process, or to a group with its number negated.
func Kill(pid int, sig syscall.Signal) error { return syscall.Kill(pid, sig) }

// OwnGroup has the program start in a process group of its own.
func OwnGroup(cmd *exec.Cmd) { attr(cmd).Setpgid = true }

// RunAs has the program run as another user.
func RunAs(cmd *exec.Cmd, uid, gid uint32) {
	attr(cmd).Credential = &syscall.Credential{Uid: uid, Gid: gid}
}

func attr(cmd *exec.Cmd) *syscall.SysProcAttr {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	return cmd.SysProcAttr
}

// Mine says whether a file belongs to the user of this process.
func Mine(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// OpenFilesMax is how many files this process may open.
func OpenFilesMax() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	return uint64(limit.Cur), nil //nolint:gosec,unconvert // FreeBSD has a signed one
}

// MakePipe makes a named pipe.
func MakePipe(path string) error { return syscall.Mkfifo(path, 0o600) }
