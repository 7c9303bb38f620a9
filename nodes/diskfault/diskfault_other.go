//go:build !linux

package diskfault

import (
	"fmt"
	"os"
)

// Missing says why disks cannot be made slow or full on this machine.
func Missing() error { return fmt.Errorf("want Linux: %w", ErrUnavailable) }

// Exec cannot be here.
func Exec([]string) error { return Missing() }

// Sockets cannot be here.
func Sockets() (given, kept *os.File, err error) { return nil, nil, Missing() }

// Serve cannot be here.
func (d *Disk) Serve(*os.File, <-chan struct{}) error { return Missing() }
