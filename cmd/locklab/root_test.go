package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// TestOnWindows: commands that start nodes end at once and say what they need; others work.
func TestOnWindows(t *testing.T) {
	missing := errors.New("want Linux")
	for args, refused := range map[string]bool{
		"run --locks nope": true, "play --locks nope": true, "agent --host a": true, "node watchdog": true,
		"list scenarios": false, "version": false, "explore multiphase:quorum --peers 2 --faults crash": false, "run --help": false,
	} {
		root := newRoot()
		refuse(root, missing)
		root.SetArgs(strings.Fields(args))
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		err := root.ExecuteContext(t.Context())
		switch {
		case refused && (!errors.Is(err, missing) || !strings.Contains(err.Error(), "list, report, check")):
			t.Errorf("%s: %v, want what it needs and which commands work", args, err)
		case !refused && err != nil:
			t.Errorf("%s: %v", args, err)
		}
	}
}
