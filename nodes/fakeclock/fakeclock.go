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
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"locklab/nodes/role"
)

// libraries are looked for where Debian and Ubuntu have them.
func libraries() (allocator, faketime string) {
	first := func(patterns ...string) string {
		for _, p := range patterns {
			if found, _ := filepath.Glob(p); len(found) > 0 { // fails for a bad pattern only
				return found[0]
			}
		}
		return ""
	}
	return first("/usr/lib/*/libtcmalloc_minimal.so.4"), first("/usr/lib/*/faketime/libfaketime.so.1")
}

// Missing says what must be installed, and how; nil if nothing is missing.
func Missing() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the clocks of servers can be set on Linux only, and this is %s", runtime.GOOS)
	}
	allocator, faketime := libraries()
	if allocator == "" || faketime == "" {
		return role.NotInstalled("libfaketime", "faketime libtcmalloc-minimal4")
	}
	return nil
}

// Env is the environment of a server that takes the time from a file.
func Env(file string) ([]string, error) {
	if err := Missing(); err != nil {
		return nil, err
	}
	allocator, faketime := libraries()
	return []string{
		"LD_PRELOAD=" + strings.Join([]string{allocator, faketime}, " "),
		"FAKETIME_TIMESTAMP_FILE=" + file,
		"FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
	}, nil
}

// Set writes by how much the clock is to be wrong.
func Set(file string, offset time.Duration) error {
	next := file + ".next"                                                                           // the server never reads half a file
	if err := os.WriteFile(next, fmt.Appendf(nil, "%+.6f\n", offset.Seconds()), 0o644); err != nil { //nolint:gosec // the server may run as another user
		return fmt.Errorf("set clock: %w", err)
	}
	if err := os.Rename(next, file); err != nil {
		return fmt.Errorf("set clock: %w", err)
	}
	return nil
}
