// Package fakeclock gives a foreign server a wall clock that can be set while it runs, with
// libfaketime, which is loaded before the server's own libraries.
//
//	node ──writes──▶ file ◀──reads whenever the server reads its clock── libfaketime in the server
//
// The monotonic clock is not changed. Only servers in a scenario that sets clocks use it, since
// each reading of the clock then costs a few microseconds.
//
// libfaketime 0.9.10 and jemalloc, which Debian's redis-server uses, call each other in an endless
// loop at the start of a program. So another allocator is loaded before both.
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

// libraries finds the libraries of this architecture where Debian and Ubuntu install them.
func libraries() (allocator, faketime string, err error) {
	if runtime.GOOS != "linux" {
		return "", "", fmt.Errorf("the clocks of servers can be set on Linux only, and this is %s", runtime.GOOS)
	}
	arch := cmp.Or(map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH], "*")
	first := func(name string) string {
		found, _ := filepath.Glob("/usr/lib/" + arch + "-linux-gnu*/" + name) // fails only for a bad pattern
		return append(found, "")[0]
	}
	allocator, faketime = first("libtcmalloc_minimal.so.4"), first("faketime/libfaketime.so.1")
	if allocator == "" || faketime == "" {
		return "", "", role.NotInstalled("libfaketime", "faketime libtcmalloc-minimal4")
	}
	return allocator, faketime, nil
}

// Missing returns an error that says how to install missing libraries, nil if none is missing.
func Missing() error {
	_, _, err := libraries()
	return err
}

// Give makes a server that cmd will start read its time from a file, which clock faults set. The server
// finds it as seen, which is another name of it where the server's account must not see the whole path.
// now asks the server for its time.
func Give(node *process.Node, cmd *exec.Cmd, file, seen string, now func() (time.Time, error)) error {
	allocator, faketime, err := libraries()
	if err != nil {
		return err
	}
	c := &serverClock{file: file, began: clock.System().Now()}
	skew := process.Skew{Rate: 1}
	if node.Skew != nil {
		skew = *node.Skew
	}
	if err := c.set(skew); err != nil {
		return err
	}
	cmd.Env = append(cmd.Environ(),
		"LD_PRELOAD="+allocator+" "+faketime,
		"FAKETIME_TIMESTAMP_FILE="+seen,
		"FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
	)
	node.GoBy(c.set, now)
	return nil
}

// serverClock is the wall clock of a server that started at began.
type serverClock struct {
	file  string
	began time.Time
}

// set writes the clock's offset now and its rate from now on. libfaketime applies the rate from
// the start of the process, so set subtracts that gain from the offset.
func (c *serverClock) set(skew process.Skew) error {
	gained := time.Duration(float64(clock.System().Now().Sub(c.began)) * (skew.Rate - 1))
	next := c.file + ".next" // renamed, so that the server never reads half a file
	line := fmt.Appendf(nil, "%+.6f x%g\n", (skew.Offset - gained).Seconds(), skew.Rate)
	err := os.WriteFile(next, line, 0o644) //nolint:gosec // the account of the server must read it
	if err == nil {
		err = os.Rename(next, c.file)
	}
	if err != nil {
		return fmt.Errorf("set clock: %w", err)
	}
	return nil
}
