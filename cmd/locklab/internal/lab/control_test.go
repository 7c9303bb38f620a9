package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/chaos/external"
	"locklab/internal/testfile"
	"locklab/workloads/history"
)

// TestALossThatWasAskedForIsNoFault: the nodes are gone, the ledger has no loss, and
// the next run waits for the host.
func TestALossThatWasAskedForIsNoFault(t *testing.T) {
	c := newAway(t)
	c.losses.expect([]string{"h"})
	if c.isLost(t.Context(), "h") {
		t.Fatal("a host that is still there counts as lost")
	}
	c.instance.Store("another")
	for range 2 {
		if !c.isLost(t.Context(), "h") {
			t.Fatal("the host was started anew, and yet it is not lost")
		}
	}
	c.recordLostNodes()
	c.awaitReturn()
	if events := c.rec.Events(); len(events) != 1 || events[0].Kind != history.KindNode || events[0].State != "lost" {
		t.Errorf("recorded %+v, want the end of the node alone", events)
	}
	if len(c.notices) != 1 || strings.Contains(c.notices[0], "warning") || !c.h.returning {
		t.Errorf("notices %q, returning %v", c.notices, c.h.returning)
	}
	if err := c.h.awaitReturn(t.Context()); err != nil || c.h.returning {
		t.Errorf("the host is back: %v, returning %v", err, c.h.returning)
	}
}

func TestScenariosThatCannotBeRun(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	file := filepath.Join(dir, "cloud.yaml")
	text := "name: cloud\nmin_duration: 3m\ntimeline:\n  - {at: 20%, for: 50%, fault: external, run: [fis, c], effect: stop, target: \"zone:c\"}\n"
	testfile.Write(t, file, text)
	for _, c := range []struct {
		allowed  string
		duration time.Duration
		want     string
	}{
		{"", time.Hour, `--scenarios: cloud: programs "fis": none is allowed: want --external fis=START,STOP`},
		{"other", time.Hour, "allowed are other: want --external fis=START,STOP"},
		{"fis", 179 * time.Second, "--duration 2m59s: want at least 3m0s for the scenario cloud"},
		{"fis", 3 * time.Minute, ""},
	} {
		config := configFor(t, nil, "none")
		config.Duration = c.duration
		if c.allowed != "" {
			var err error
			if config.External, err = external.Parse([]string{c.allowed + "=" + program + "," + program}); err != nil {
				t.Fatal(err)
			}
		}
		err := errors.Join(config.UseTopology("seoul-2az", ""), config.UseScenarios([]string{file}))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("allowed %q, %v: %v; want %q", c.allowed, c.duration, err, c.want)
		}
	}
}
