//go:build !linux

package diskfault

import (
	"errors"
	"os"

	"locklab/internal/damage"
	"locklab/workloads/history"
)

// Missing says why disks cannot be made slow or full on this machine.
func Missing() error {
	return errors.New("this system does not let a program's calls be watched: want Linux")
}

// Exec cannot be here.
func Exec([]string) error { return Missing() }

// Sockets cannot be here.
func Sockets() (given, kept *os.File, err error) { return nil, nil, Missing() }

// Serve cannot be here.
func (d *Disk) Serve(*os.File, <-chan struct{}) error { return Missing() }

type power struct{}

// WatchPower cannot be here.
func (d *Disk) WatchPower(string) error { return Missing() }

// CutPower cannot be here.
func (d *Disk) CutPower(damage.Power) (history.Lost, error) { return history.Lost{}, Missing() }

// Close has nothing to do here.
func (d *Disk) Close() {}
