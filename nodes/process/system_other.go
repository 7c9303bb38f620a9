//go:build !linux

package process

import "os/exec"

// DieWithParent does nothing here: a node ends, and its server with it, when its standard input does.
func DieWithParent(*exec.Cmd) {}
