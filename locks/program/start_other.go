//go:build !linux

package program

import "os/exec"

// spawn starts the program. That its parent was killed it sees by the end of its input.
func spawn(cmd *exec.Cmd) (ended <-chan error, started error) {
	end := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		return end, err
	}
	go func() { end <- cmd.Wait() }()
	return end, nil
}
