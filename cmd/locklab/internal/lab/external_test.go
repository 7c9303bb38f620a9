package lab

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"locklab/chaos/external"
	"locklab/internal/testfile"
	"locklab/nodes/topology"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
)

// TestALossThatWasAskedForIsNoFault: the nodes are gone, the ledger has no loss, and
// the next run waits for the host.
func TestALossThatWasAskedForIsNoFault(t *testing.T) {
	var instance atomic.Value
	instance.Store("first")
	m, _ := fakeAgent(t, &instance)
	m.instance = "first"
	rec := &historytest.Recorder{}
	var notices []string
	c := &cluster{
		fleet:    &fleet{machines: map[string]*machine{"h": m}, log: slog.New(slog.DiscardHandler), notice: func(s string) { notices = append(notices, s) }},
		topo:     &topology.Topology{Hosts: []topology.Host{{Name: "h", Nodes: []topology.Node{{Name: "n", Role: "worker"}}}, {Name: "other"}}},
		recorder: rec,
	}
	c.losses.expect([]string{"h"})
	if c.isLost(t.Context(), "h") {
		t.Fatal("a host that is still there counts as lost")
	}
	instance.Store("another")
	for range 2 {
		if !c.isLost(t.Context(), "h") {
			t.Fatal("the host was started anew, and yet it is not lost")
		}
	}
	c.recordLostNodes()
	c.awaitReturn()
	if len(rec.Events()) != 1 || rec.Events()[0].Kind != history.KindNode || rec.Events()[0].State != "lost" {
		t.Errorf("recorded %+v, want the end of the node alone", rec.Events())
	}
	if len(notices) != 1 || strings.Contains(notices[0], "warning") || !m.returning {
		t.Errorf("notices %q, returning %v", notices, m.returning)
	}
	if err := m.awaitReturn(t.Context()); err != nil || m.returning {
		t.Errorf("the host is back: %v, returning %v", err, m.returning)
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
