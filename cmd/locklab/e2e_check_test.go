//go:build e2e

package main_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"locklab/internal/posix"
	"locklab/locks/locktest"
	"locklab/workloads/result"
)

// TestE2ECheckIsInterrupted: a history that takes minutes to read ends with the signal,
// and with its code.
func TestE2ECheckIsInterrupted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "long.jsonl.gz")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	member := func(text []byte) []byte {
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return zipped.Bytes()
	}
	head := member([]byte(`{"kind":"run","at_ns":1,"run":{"schema":"locklab/history/v1","lock":"raft","workload":"mutex","duration_ns":1000000000}}` + "\n"))
	if _, err := out.Write(append(head, bytes.Repeat(member(bytes.Repeat([]byte("\n"), 16<<20)), 2000)...)); err != nil { // 32 GB
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		check := begin(t, nil, "check", path)
		locktest.Eventually(t, "it reads", func() bool { return readsFile(check.Process.Pid) })
		check.signal(t, signal)
		check.wants(t, code)
	}
}

// readsFile says whether the process has read more than programs and their libraries
// do when they start.
func readsFile(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	var read int
	_, scanErr := fmt.Sscanf(string(text), "rchar: %d", &read)
	return err == nil && scanErr == nil && read > 512<<10
}

// TestE2EPipesAreRefused: nobody would ever write into them.
func TestE2EPipesAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, result.FileName)
	if err := posix.MakePipe(pipe); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"report", dir}, {"check", pipe}, {"run", "--topology", pipe}, {"run", "--scenarios", pipe}} {
		if out := mustRun(t, 1, args...); !strings.Contains(out.stderr, pipe) || !strings.Contains(out.stderr, "regular") {
			t.Errorf("%s says %s", args, out.stderr)
		}
	}
}

// TestE2ECrashIsNoVerdict: SIGQUIT ends every Go program with a trace, and with exit
// code 2 unless it is told otherwise.
func TestE2ECrashIsNoVerdict(t *testing.T) {
	t.Parallel()
	host := begin(t, token, "agent", "--host", "h", "--zone", "a", "--listen", "127.0.0.1:0")
	host.said.awaitLine(t, "listening on")
	host.signal(t, syscall.SIGQUIT)
	host.wants(t, -1)
	if status, ok := host.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGABRT {
		t.Errorf("it ended with %v, want SIGABRT", host.ProcessState)
	}
}
