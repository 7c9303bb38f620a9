package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"locklab/internal/testfile"
)

// TestTabInBash presses TAB in a real bash without the package bash-completion: what stands
// before the cursor stays, and what may follow is there.
func TestTabInBash(t *testing.T) {
	if os.Getenv("LOCKLAB_TEST_TAB") != "" { // it is the program that bash asks
		root := newRoot()
		root.SetArgs(flag.Args())
		if err := root.Execute(); err != nil {
			os.Exit(exitCannotRun)
		}
		os.Exit(exitOK)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "locklab")
	testfile.Write(t, program, fmt.Sprintf("#!/bin/sh\nLOCKLAB_TEST_TAB=1 exec '%s' -test.run '^TestTabInBash$' -- \"$@\"\n", os.Args[0]))
	if err := os.Chmod(program, 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	testfile.Write(t, filepath.Join(dir, "my.yaml"), "")
	master, file, read := keyboard(t, 1000)
	bash := exec.CommandContext(t.Context(), "bash", "--norc", "--noprofile", "-i")
	bash.Stdin, bash.Stdout, bash.Stderr = file, file, file
	bash.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	bash.Dir = dir
	bash.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "TERM=dumb", "PS1=", "HISTFILE=", "INPUTRC=/dev/null")
	if err := bash.Start(); err != nil {
		t.Fatal(err)
	}
	typed := "source <(locklab completion bash)\n"
	var want []string
	for _, c := range [][2]string{ // before the TAB, and after it
		{"run --locks redl", "run --locks redlock"},
		{"run --locks none,redl", "run --locks none,redlock"},
		{"run --locks redlock:ttl=1s,ord", "run --locks redlock:ttl=1s,order="},
		{"run --locks redlock:persistence=al", "run --locks redlock:persistence=always"},
		{"run --locks=redlock:persistence=al", "run --locks=redlock:persistence=always"},
		{"run --locks redlock:ttl=1s --locks 'redlock:persistence=al", "run --locks redlock:ttl=1s --locks 'redlock:persistence=always'"},
		{"run --workload fenced-write --fencing of", "run --workload fenced-write --fencing off "},
		{"run --topology m", "run --topology my.yaml"},
		{"list locks redl", "list locks redlock "},
		{"list scenarios zone-p", "list scenarios zone-partition"},
		{"lis", "list "},
	} {
		typed += "locklab " + c[0] + "\t|\x01echo '<'\"\x05\"\n"
		want = append(want, "<locklab "+c[1]+"|")
	}
	if _, err := master.WriteString(typed + "exit\n"); err != nil {
		t.Fatal(err)
	}
	_ = bash.Wait() // with what the last command ended with
	said := read()
	for _, line := range want {
		if !strings.Contains(said, line+"\n") {
			t.Errorf("want %q in\n%s", line, said)
		}
	}
}
