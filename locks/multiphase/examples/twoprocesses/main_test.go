package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingIsLost runs the program as a user would.
func TestNothingIsLost(t *testing.T) {
	program := filepath.Join(t.TempDir(), "twoprocesses")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), program, "-times=200").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := "400 additions by two processes, 0 of them lost"; !strings.Contains(string(out), want) {
		t.Errorf("want %q, got %q", want, out)
	}
}
