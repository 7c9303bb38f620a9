// Package fakeclock gives a foreign server a wall clock that can be set while it runs, by
// libfaketime, which is loaded before the server's own libraries.
//
//	agent ──writes──▶ DIR/clock ◀──reads at every look at the clock── libfaketime in the server
//
// The monotonic clock stays as it is. Only servers that the agent starts for a scenario
// that steps clocks run so: every look at the clock costs them a few microseconds.
//
// libfaketime 0.9.10 and jemalloc, which Debian's redis-server has, call each other for ever
// when a program begins. So another allocator is loaded before both.
package fakeclock

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"locklab/locks/clock"
	"locklab/nodes/role"
)

// libraries are looked for where Debian and Ubuntu have them, for programs of a machine;
// of several architectures that are installed side by side, only that one's can be loaded.
func libraries(machine elf.Machine) (allocator, faketime string) {
	first := func(pattern string) string {
		found, _ := filepath.Glob(pattern) // fails for a bad pattern only
		for _, path := range found {
			if is, err := machineOf(path); err == nil && is == machine {
				return path
			}
		}
		return ""
	}
	return first("/usr/lib/*/libtcmalloc_minimal.so.4"), first("/usr/lib/*/faketime/libfaketime.so.1")
}

// machineOf is what a program or a library is made for.
func machineOf(path string) (elf.Machine, error) {
	f, err := elf.Open(path)
	if err != nil {
		return elf.EM_NONE, fmt.Errorf("see what %s is made for: %w", path, err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	return f.Machine, nil
}

// Missing says what must be installed for programs of this one's machine, and how; nil if
// nothing is missing.
func Missing() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the clocks of servers can be set on Linux only, and this is %s", runtime.GOOS)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	_, _, err = librariesOf(self)
	return err
}

// librariesOf are those that the program can load.
func librariesOf(program string) (allocator, faketime string, err error) {
	machine, err := machineOf(program)
	if err != nil {
		return "", "", err
	}
	allocator, faketime = libraries(machine)
	if allocator == "" || faketime == "" {
		name := strings.ToLower(strings.TrimPrefix(machine.String(), "EM_"))
		return "", "", fmt.Errorf("for programs of the machine %s, which %s is: %w", name, program, role.NotInstalled("libfaketime", "faketime libtcmalloc-minimal4"))
	}
	return allocator, faketime, nil
}

// Env is the environment of a program that takes the time from a file.
func Env(program, file string) ([]string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", program, err)
	}
	allocator, faketime, err := librariesOf(path)
	if err != nil {
		return nil, err
	}
	return []string{
		"LD_PRELOAD=" + strings.Join([]string{allocator, faketime}, " "),
		"FAKETIME_TIMESTAMP_FILE=" + file,
		"FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
	}, nil
}

// Set writes by how much the clock is to be wrong now, and at what rate it is to run from now
// on (1 is right), for a process that began at a time: libfaketime counts the rate from there.
func Set(file string, offset time.Duration, rate float64, began time.Time) error {
	gained := time.Duration(float64(clock.System().Now().Sub(began)) * (rate - 1))
	next := file + ".next" // the server never reads half a file
	line := fmt.Appendf(nil, "%+.6f x%g\n", (offset - gained).Seconds(), rate)
	if err := os.WriteFile(next, line, 0o644); err != nil { //nolint:gosec // the server may run as another user
		return fmt.Errorf("set clock: %w", err)
	}
	if err := os.Rename(next, file); err != nil {
		return fmt.Errorf("set clock: %w", err)
	}
	return nil
}
