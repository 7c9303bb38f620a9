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
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"locklab/locks/clock"
	"locklab/nodes/process"
	"locklab/nodes/role"
)

// libraries are where Debian and Ubuntu have them; of several architectures side by side, for this one's programs.
func libraries() (allocator, faketime string, err error) {
	if runtime.GOOS != "linux" {
		return "", "", fmt.Errorf("the clocks of servers can be set on Linux only, and this is %s", runtime.GOOS)
	}
	arch := cmp.Or(map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH], "*")
	first := func(name string) string {
		found, _ := filepath.Glob("/usr/lib/" + arch + "-linux-gnu*/" + name) // fails for a bad pattern only
		return append(found, "")[0]
	}
	allocator, faketime = first("libtcmalloc_minimal.so.4"), first("faketime/libfaketime.so.1")
	if allocator == "" || faketime == "" {
		return "", "", role.NotInstalled("libfaketime", "faketime libtcmalloc-minimal4")
	}
	return allocator, faketime, nil
}

// Missing says what must be installed to set the clocks of servers, and how; nil if nothing is missing.
func Missing() error {
	_, _, err := libraries()
	return err
}

// Give has the server of a node, which is about to start, take its time from a file, and faults of clocks
// set that. now asks the server for its time.
func Give(node *process.Node, cmd *exec.Cmd, now func() (time.Time, error)) error {
	allocator, faketime, err := libraries()
	if err != nil {
		return err
	}
	c := &serverClock{file: filepath.Join(node.Dir, "clock"), began: clock.System().Now()}
	skew := process.Skew{Rate: 1}
	if node.Skew != nil {
		skew = *node.Skew
	}
	if err := c.set(skew); err != nil {
		return err
	}
	cmd.Env = append(cmd.Environ(),
		"LD_PRELOAD="+allocator+" "+faketime,
		"FAKETIME_TIMESTAMP_FILE="+c.file,
		"FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
	)
	node.GoBy(c.set, now)
	return nil
}

// serverClock is the wall clock of a server that began at a time.
type serverClock struct {
	file  string
	began time.Time
}

// set writes by how much the clock is to be wrong now, and at what rate it is to run from now
// on. libfaketime counts the rate from where the process began.
func (c *serverClock) set(skew process.Skew) error {
	gained := time.Duration(float64(clock.System().Now().Sub(c.began)) * (skew.Rate - 1))
	next := c.file + ".next" // the server never reads half a file
	line := fmt.Appendf(nil, "%+.6f x%g\n", (skew.Offset - gained).Seconds(), skew.Rate)
	err := os.WriteFile(next, line, 0o600)
	if err == nil {
		err = os.Rename(next, c.file)
	}
	if err != nil {
		return fmt.Errorf("set clock: %w", err)
	}
	return nil
}
