//go:build e2e

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/locks/locktest"

	"locklab/workloads/result"
)

// secret is what the agents of a test want to see, and bearer says it to a program.
const secret = "a-secret-of-this-test"

// scrapeSecret reads their metrics, and nothing else.
const scrapeSecret = "another-secret-of-this-test"

var bearer = []string{"LOCKLAB_TOKEN=" + secret}

// awayHost is a host whose agent is a process of its own.
type awayHost struct {
	name, zone, addr string
	*program
}

func (h *awayHost) start(t *testing.T) {
	t.Helper()
	h.program = begin(t, bearer, "agent", "--host", h.name, "--zone", h.zone, "--listen", h.addr, "--scrape-token-file", write(t, "scrape-token", scrapeSecret))
	h.said.awaitLine(t, "listening on")
}

// startAway starts the hosts, with agents of their own and a node each, and gives them with
// the text of the topology.
func startAway(t *testing.T, names ...string) (hosts map[string]*awayHost, topology string) {
	t.Helper()
	hosts = map[string]*awayHost{}
	topology = "name: seoul-2az\nsummary: agents as processes\nzones:\n  - {name: ap-northeast-2a, short: a}\n  - {name: ap-northeast-2c, short: c}\n" +
		"latency: {inside: {rtt: 0.2ms}, between: {rtt: 1ms}}\nhosts:\n"
	for _, name := range names {
		role, zone, _ := strings.Cut(name, "-")
		h := &awayHost{name: name, zone: zone, addr: locktest.FreeAddr(t)}
		h.start(t)
		hosts[name] = h
		topology += fmt.Sprintf("  - {name: %s, zone: %s, agent: \"http://%s\", nodes: [{name: %s, role: %s}]}\n", name, zone, h.addr, name, role)
	}
	return hosts, topology
}

// twoZones are the hosts of a comparison that can lose one of each kind.
func twoZones() []string { return []string{"master-a", "master-c", "worker-a", "worker-c"} }

// TestE2EHostLoss: a whole host dies while runs need it, which are given up, and later comes back.
func TestE2EHostLoss(t *testing.T) {
	t.Parallel()
	t.Cleanup(func() { nothingLeft(t) })
	const victim = "worker-c"
	hosts, topology := startAway(t, twoZones()...)
	lost := hosts[victim]
	dir := filepath.Join(t.TempDir(), "out")
	lab := begin(t, bearer, "run", "--topology", write(t, "away.yaml", topology),
		"--locks", "none,multiphase", "--scenarios", "zone-partition,baseline", "--duration", "2s", "--out", dir)
	awaitStage(t, dir, 1, "measuring")
	lost.signal(t, os.Kill)
	lost.wants(t, -1)
	lab.said.awaitLine(t, "[1/4]", "? ")
	lab.said.awaitLine(t, "[2/4]", "? ") // it cannot begin
	lost.start(t)
	lab.wants(t, 4)
	file := read(t, dir)
	for _, lock := range []string{"none", "multiphase"} {
		if r := row(t, file, lock, "zone-partition"); !blames(r, result.GivenUp) || !strings.Contains(r.Verdict.Sound.Of, hosts[victim].addr) {
			t.Errorf("%s under zone-partition: %+v", lock, r.Verdict)
		}
	}
	if r := row(t, file, "none", "zone-partition"); r.Figures["requests"] == 0 {
		t.Error("the run was not completed without the host")
	}
	if r := row(t, file, "multiphase", "baseline"); r.Figures["requests"] == 0 || r.Verdict.Sound.Code == result.GivenUp {
		t.Errorf("the host is back, and yet multiphase under baseline: %+v", r.Verdict)
	}
	if _, err := os.Stat(filepath.Join(dir, "index.html")); err != nil {
		t.Errorf("no report: %v", err)
	}
}
