//go:build !linux

package diskfault

import (
	"errors"
	"os"

	"locklab/internal/damage"
	"locklab/workloads/history"
)

// Missing says why this machine cannot have disk faults.
func Missing() error {
	return errors.New("this system does not let a program's calls be watched: want Linux")
}

// Exec returns [Missing].
func Exec([]string) error { return Missing() }

// Sockets returns [Missing].
func Sockets() (given, kept *os.File, err error) { return nil, nil, Missing() }

// Serve returns [Missing].
func (d *Disk) Serve(*os.File, <-chan struct{}) error { return Missing() }

type power struct{}

// WatchPower returns [Missing].
func (d *Disk) WatchPower(string) error { return Missing() }

// CutPower returns [Missing].
func (d *Disk) CutPower(damage.Power) (history.Lost, error) { return history.Lost{}, Missing() }

// Close does nothing.
func (d *Disk) Close() {}
