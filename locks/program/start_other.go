//go:build !linux

package program

import "os/exec"

// spawn starts the program. That its parent was killed it sees by the end of its input.
func spawn(cmd *exec.Cmd) (started error, ended <-chan error) {
	end := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		return err, end
	}
	go func() { end <- cmd.Wait() }()
	return nil, end
}
