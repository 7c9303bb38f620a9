//go:build e2e

package main_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"locklab/reports/result"
)

const lossToken = "a-secret-of-this-test"

// awayHost is a host whose agent is a process of its own.
type awayHost struct {
	name, zone, role, addr string

	cmd *exec.Cmd
}

func (h *awayHost) start(t *testing.T) {
	t.Helper()
	h.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), binary, "agent", "--host", h.name, "--zone", h.zone, "--listen", h.addr)
	h.cmd.Env = append(os.Environ(), "LOCKLAB_TOKEN="+lossToken)
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said := &syncBuffer{changed: make(chan struct{}, 1)}
	h.cmd.Stderr = said
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, said, "listening on")
}

func (h *awayHost) kill(t *testing.T) {
	t.Helper()
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = exitOf(h.cmd)
}

// TestE2EHostLoss: a whole host dies while runs need it, and later comes back.
func TestE2EHostLoss(t *testing.T) {
	for _, victim := range []string{"worker-c", "master-c"} {
		t.Run(victim, func(t *testing.T) { loseHost(t, victim) })
	}
	nothingLeft(t)
}

func loseHost(t *testing.T, victim string) {
	hosts := []*awayHost{
		{name: "master-a", zone: "a", role: "master"},
		{name: "master-c", zone: "c", role: "master"},
		{name: "worker-a", zone: "a", role: "worker"},
		{name: "worker-c", zone: "c", role: "worker"},
	}
	var yaml strings.Builder
	yaml.WriteString("name: seoul-2az\nsummary: agents as processes\nzones:\n  - {name: ap-northeast-2a, short: a}\n  - {name: ap-northeast-2c, short: c}\n" +
		"latency: {inside: {rtt: 0.2ms}, between: {rtt: 1ms}}\nhosts:\n")
	var lost *awayHost
	for _, h := range hosts {
		h.addr = freeAddr(t)
		h.start(t)
		t.Cleanup(func() { h.kill(t) })
		fmt.Fprintf(&yaml, "  - {name: %s, zone: %s, agent: \"http://%s\", nodes: [{name: %s, role: %s}]}\n", h.name, h.zone, h.addr, h.name, h.role)
		if h.name == victim {
			lost = h
		}
	}
	dir := filepath.Join(t.TempDir(), "out")
	cmd := exec.CommandContext(t.Context(), binary, "run", "--topology", write(t, "away.yaml", yaml.String()),
		"--locks", "none,multiphase", "--scenarios", "zone-partition,baseline", "--duration", "3s", "--out", dir)
	cmd.Env = append(os.Environ(), "LOCKLAB_TOKEN="+lossToken)
	stderr := &syncBuffer{changed: make(chan struct{}, 1)}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, stderr, "[1/4]", "measuring")
	lost.kill(t)
	waitFor(t, stderr, "host "+victim+" is lost")
	waitFor(t, stderr, "[2/4]", "inconclusive") // it cannot begin
	lost.start(t)
	code := exitOf(cmd)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("it said:\n%s", stderr)
		}
	})
	if code != 4 {
		t.Errorf("exit code %d, want 4", code)
	}
	file := read(t, dir)
	for _, lock := range []string{"none", "multiphase"} {
		r := row(t, file, lock, "zone-partition")
		if r.Verdict.Status != result.StatusInconclusive || !strings.Contains(r.Verdict.Why, "Host "+victim+" was lost") {
			t.Errorf("%s under zone-partition: %s: %s", lock, r.Verdict.Status, r.Verdict.Why)
		}
		found := false
		for _, f := range r.Faults {
			found = found || f.Kind == "host-loss" && f.Target == "host "+victim && f.AskedMS == -1
		}
		if !found {
			t.Errorf("the ledger of %s does not have the loss: %+v", lock, r.Faults)
		}
	}
	if r := row(t, file, "none", "zone-partition"); r.Matches == 0 {
		t.Error("the run was not completed without the host")
	}
	if r := row(t, file, "multiphase", "baseline"); r.Matches == 0 || strings.Contains(r.Verdict.Why, "lost") {
		t.Errorf("the host is back, and yet multiphase under baseline: %d matches, %s", r.Matches, r.Verdict.Why)
	}
	if _, err := os.Stat(filepath.Join(dir, "index.html")); err != nil {
		t.Errorf("no report: %v", err)
	}
}
