// Package fakeclock gives a foreign server a wall clock that can be set while it runs, by
// libfaketime, which is loaded before the server's own libraries.
//
//	node ──writes──▶ DIR/clock ◀──reads at every look at the clock── libfaketime in the server
//
// The monotonic clock stays as it is. Only servers that are started for a scenario
// that steps clocks run so: every look at the clock costs them a few microseconds.
//
// libfaketime 0.9.10 and jemalloc, which Debian's redis-server has, call each other for ever
// when a program begins. So another allocator is loaded before both.
package fakeclock

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"locklab/locks/clock"
	"locklab/nodes/process"
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
		missing := role.NotInstalled("libfaketime", "faketime libtcmalloc-minimal4")
		return "", "", fmt.Errorf("for programs of the machine %s, which %s is: %w", name, program, missing)
	}
	return allocator, faketime, nil
}

// Give has the server of a node, which is about to start, take its time from a file, and faults of clocks
// set that. now asks the server for its time.
func Give(node *process.Node, cmd *exec.Cmd, now func(context.Context) (time.Time, error)) error {
	if cmd.Err != nil {
		return fmt.Errorf("find %s: %w", cmd.Path, cmd.Err)
	}
	allocator, faketime, err := librariesOf(cmd.Path)
	if err != nil {
		return err
	}
	c := &serverClock{file: filepath.Join(node.Dir, "clock"), began: clock.System().Now(), now: now}
	skew := process.Skew{Rate: 1}
	if node.Skew != nil {
		skew = *node.Skew
	}
	if err := c.Set(skew); err != nil {
		return err
	}
	cmd.Env = append(cmd.Environ(),
		"LD_PRELOAD="+allocator+" "+faketime,
		"FAKETIME_TIMESTAMP_FILE="+c.file,
		"FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
	)
	node.GoBy(c)
	return nil
}

// serverClock is the wall clock of a server that began at a time.
type serverClock struct {
	file  string
	began time.Time
	now   func(context.Context) (time.Time, error)
}

func (c *serverClock) Now(ctx context.Context) (time.Time, error) { return c.now(ctx) }

// Set writes by how much the clock is to be wrong now, and at what rate it is to run from now
// on. libfaketime counts the rate from where the process began.
func (c *serverClock) Set(skew process.Skew) error {
	gained := time.Duration(float64(clock.System().Now().Sub(c.began)) * (skew.Rate - 1))
	next := c.file + ".next" // the server never reads half a file
	line := fmt.Appendf(nil, "%+.6f x%g\n", (skew.Offset - gained).Seconds(), skew.Rate)
	if err := os.WriteFile(next, line, 0o600); err != nil {
		return fmt.Errorf("set clock: %w", err)
	}
	if err := os.Rename(next, c.file); err != nil {
		return fmt.Errorf("set clock: %w", err)
	}
	return nil
}
