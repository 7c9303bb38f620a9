//go:build e2e

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"locklab/internal/testfile"
	"locklab/workloads/result"
)

// The programs of these tests: start kills a host's agent, with all of its nodes,
// and stop starts it again as a new one.
const (
	startProgram = `#!/bin/sh
echo "start $*" >>"$DIR/calls"
touch "$DIR/$1.off"
kill -9 "$(cat "$DIR/$1.pid")"
`
	stopProgram = `#!/bin/sh
echo "stop $*" >>"$DIR/calls"
[ -f "$DIR/$1.off" ] || exit 0
. "$DIR/$1.env"
LOCKLAB_TOKEN="$TOKEN" "$LOCKLAB" agent --host "$1" --zone "$ZONE" --listen "$ADDR" >>"$DIR/$1.log" 2>&1 </dev/null &
echo $! >"$DIR/$1.new" && mv "$DIR/$1.new" "$DIR/$1.pid" && rm "$DIR/$1.off"
`
)

// cloud is four hosts with an agent each, and programs that can switch one off.
type cloud struct {
	dir, topology string
	external      string // the flag's value
}

func newCloud(t *testing.T) cloud {
	t.Helper()
	dir := t.TempDir()
	c := cloud{dir: dir, external: fmt.Sprintf("power=%s/start,%s/stop", dir, dir)}
	for name, text := range map[string]string{"start": startProgram, "stop": stopProgram} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
	}
	hosts, topology := startAway(t, twoZones()...)
	for _, h := range hosts {
		first := h.Process.Pid
		testfile.Write(t, filepath.Join(dir, h.name+".pid"), strconv.Itoa(first))
		testfile.Write(t, filepath.Join(dir, h.name+".env"), fmt.Sprintf("LOCKLAB=%s\nTOKEN=%s\nZONE=%s\nADDR=%s\n", binary, secret, h.zone, h.addr))
		t.Cleanup(func() { // the one that stop has started
			if text, err := os.ReadFile(filepath.Join(dir, h.name+".pid")); err == nil {
				if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid != first {
					_ = syscall.Kill(pid, syscall.SIGTERM)
				}
			}
		})
	}
	c.topology = write(t, "cloud.yaml", topology)
	return c
}

func (c cloud) calls(t *testing.T) string {
	t.Helper()
	return string(testfile.Read(t, filepath.Join(c.dir, "calls")))
}

// run starts a comparison of none under a scenario that switches a host off.
func (c cloud) run(t *testing.T, host, out, duration string) *program {
	t.Helper()
	scenario := write(t, "power.yaml", "name: power\ntimeline:\n"+
		"  - {at: 20%, for: 60%, id: off, fault: external, run: [power, "+host+"], effect: stop, target: \"host:worker-c\"}\n"+
		"expect:\n  - {when: {lock: none}, safety: unsafe}\n")
	return begin(t, append(bearer, "DIR="+c.dir), "run", "--topology", c.topology, "--locks", "none",
		"--scenarios", scenario+",baseline", "--external", c.external, "--out", out, "--duration", duration)
}

// TestE2EExternalStop: a host that the scenario has others switch off is a proven
// fault and no loss; the run is judged, and the next one has the host again.
func TestE2EExternalStop(t *testing.T) {
	c := newCloud(t)
	var file result.File
	for attempt := 1; ; attempt++ {
		out := filepath.Join(t.TempDir(), "out")
		code := c.run(t, "worker-c", out, "12s").end()
		file = read(t, out)
		if code == 0 {
			break
		}
		switch { // that the machine is too busy is no finding
		case code != 4 || !machineOnly(file):
			t.Fatalf("exit code %d", code)
		case attempt == attempts:
			t.Skip("the machine was three times too busy to decide")
		}
	}
	r := row(t, file, "none", "power")
	if len(r.Faults) != 1 || r.Faults[0].Kind != "external" || !r.Faults[0].Proven || r.Faults[0].Target != "host:worker-c (power worker-c)" {
		t.Errorf("the ledger has %+v, want one proven external fault and no loss", r.Faults)
	}
	if b := row(t, file, "none", "baseline"); b.Verdict.As != result.AsExpected || b.Figures["requests"] == 0 {
		t.Errorf("the run after it: %+v", b.Verdict)
	}
	if calls := c.calls(t); !strings.HasSuffix(calls, "start worker-c\nstop worker-c\n") {
		t.Errorf("calls %q", calls)
	}
}

// TestE2EExternalIsStoppedOnAbort: Ctrl-C does not leave the host switched off.
func TestE2EExternalIsStoppedOnAbort(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	lab := c.run(t, "worker-c", filepath.Join(t.TempDir(), "out"), "20s")
	lab.said.awaitLine(t, "host worker-c is away, as the scenario asks")
	lab.signal(t, os.Interrupt)
	lab.wants(t, 130)
	if calls := c.calls(t); calls != "start worker-c\nstop worker-c\n" {
		t.Errorf("calls %q", calls)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "worker-c.off")); err == nil {
		t.Error("the host is still off")
	}
}
