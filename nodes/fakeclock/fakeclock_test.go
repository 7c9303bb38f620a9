package fakeclock_test

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/nodes/fakeclock"
	"locklab/nodes/process"
)

// TestLibrariesAreOfTheProgramsMachine: what is installed for one machine is not loaded into a
// program of another one, which would run without it and keep the right time.
func TestLibrariesAreOfTheProgramsMachine(t *testing.T) {
	if err := fakeclock.Missing(); err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	must.Do(t, err)
	node := &process.Node{Config: process.Config{Dir: t.TempDir()}}
	give := func(program string) (*exec.Cmd, error) {
		cmd := exec.Command(program)
		return cmd, fakeclock.Give(node, cmd, nil)
	}
	cmd, err := give(self)
	if err != nil || !strings.Contains(strings.Join(cmd.Env, " "), "libfaketime.so.1") {
		t.Fatalf("%v, %v", cmd.Env, err)
	}
	program := testfile.Read(t, self)
	const machine, sparc = 18, 43 // e_machine of the header; EM_SPARCV9
	binary.LittleEndian.PutUint16(program[machine:], sparc)
	foreign := filepath.Join(t.TempDir(), "foreign")
	must.Do(t, os.WriteFile(foreign, program, 0o700))
	if _, err := give(foreign); err == nil || !strings.Contains(err.Error(), "for programs of the machine sparcv9") {
		t.Errorf("a program of another machine: %v", err)
	}
	script := filepath.Join(t.TempDir(), "script")
	must.Do(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700))
	if _, err := give(script); err == nil || !strings.Contains(err.Error(), "see what "+script+" is made for") {
		t.Errorf("a script: %v", err)
	}
}
