package posix

import (
	"errors"
	"io/fs"
	"os/exec"
	"syscall"
)

// Signals that stop a process and let it go on, as Linux numbers them. None arrives here.
const (
	SIGSTOP = syscall.Signal(19)
	SIGCONT = syscall.Signal(18)
)

var errMissing = errors.New("want Linux or another unix: Windows cannot stop a process or signal a group")

// Missing says what this system lacks to run nodes.
func Missing() error { return errMissing }

// Kill fails.
func Kill(int, syscall.Signal) error { return errMissing }

// OwnGroup sees that the program does not start.
func OwnGroup(cmd *exec.Cmd) { cmd.Err = errMissing }

// RunAs sees that the program does not start.
func RunAs(cmd *exec.Cmd, _, _ uint32) { cmd.Err = errMissing }

// Mine says no: the file does not tell.
func Mine(fs.FileInfo) bool { return false }

// OpenFilesMax fails.
func OpenFilesMax() (uint64, error) { return 0, errMissing }

// MakePipe fails.
func MakePipe(string) error { return errMissing }
