//go:build e2e

package main_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/reports/result"
)

// TestE2ECheckIsInterrupted: a history that takes minutes to read ends with the signal,
// and with its code.
func TestE2ECheckIsInterrupted(t *testing.T) {
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
	head := member([]byte(`{"kind":"run","at_ns":1,"run":{"schema":"locklab/history/v1","workload":"mutex","duration_ns":1000000000}}` + "\n"))
	if _, err := out.Write(append(head, bytes.Repeat(member(bytes.Repeat([]byte("\n"), 16<<20)), 2000)...)); err != nil { // 32 GB
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.CommandContext(t.Context(), binary, "check", path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for !readsFile(cmd.Process.Pid) {
			time.Sleep(time.Millisecond)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("%v: exit code %d, want 130", signal, code)
		}
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
	dir := t.TempDir()
	pipe := filepath.Join(dir, result.FileName)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
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
	cmd := exec.CommandContext(t.Context(), binary, "agent", "--host", "h", "--zone", "a", "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "LOCKLAB_TOKEN=a-secret-of-this-test")
	stderr := &syncBuffer{changed: make(chan struct{}, 1)}
	cmd.Stdout, cmd.Stderr = stderr, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(stderr.String(), "127.0.0.1:") {
		<-stderr.changed
	}
	if err := cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGABRT {
		t.Errorf("it ended with %v, want SIGABRT", cmd.ProcessState)
	}
}
