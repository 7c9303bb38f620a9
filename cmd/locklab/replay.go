package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"locklab/internal/sentence"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/verify/sim"
)

// simMinimal is the smallest case of a simulation that shows a violation, and how real processes replay it.
type simMinimal struct {
	Seed     uint64      `json:"seed"`
	Peers    int         `json:"peers"`
	Faults   []sim.Fault `json:"faults"`
	Finding  sim.Finding `json:"finding"`
	Trace    []string    `json:"trace"`
	Scenario string      `json:"scenario,omitempty"`
	Replay   string      `json:"replay,omitempty"`
	NoReplay string      `json:"no_replay,omitempty"`

	text string // the case in words
}

// shrink makes the first violation small, traces it and writes it as a scenario to out.
func shrink(lock catalog.Lock, plan sim.Plan, findings []sim.Group, out string) (*simMinimal, error) {
	first := findings[0] // violations stand before the rest
	for _, g := range findings {
		if g.Example.Kind.Bad() && g.First < first.First {
			first = g
		}
	}
	m := sim.Shrink(lock.Core.Simulator, plan.Case(first.First), first.Example.Kind)
	var trace bytes.Buffer
	cfg := m.Config
	cfg.Trace = &trace
	lock.Core.Simulator(cfg)
	const most = 60
	lines := strings.Split(strings.TrimRight(trace.String(), "\n"), "\n")
	least := &simMinimal{
		Seed: uint64(cfg.Seed), Peers: cfg.Peers, Faults: append([]sim.Fault{}, cfg.Faults...), Finding: m.Finding,
		Trace: lines[max(0, len(lines)-most):],
		text: fmt.Sprintf("%s (seed %d), after %s: seed %d, %s in %s, think %v, hold %v, give up after %v, faults %v",
			first.Name, uint64(first.First), sentence.Plural(m.Runs, "run"), uint64(cfg.Seed),
			sentence.Plural(cfg.Peers, "peer"), sentence.Plural(cfg.Zones, "zone"),
			cfg.Load.Think, cfg.Load.Hold, cfg.Load.GiveUp, cfg.Faults),
	}
	name := fmt.Sprintf("sim-%s-%s-%d", lock, m.Finding.Kind, uint64(cfg.Seed))
	name = regexp.MustCompile(`[^a-z0-9]`).ReplaceAllString(name, "-")
	file := out
	if filepath.Ext(out) != ".yaml" {
		file = filepath.Join(cmp.Or(out, simDir), name+".yaml")
	}
	text, command, err := least.scenario(lock.String(), cfg.Load, name, file)
	if err != nil {
		least.NoReplay = err.Error()
		return least, nil //nolint:nilerr // it is told where the command would be
	}
	if _, err := scenario.Parse(file, text, ""); err != nil {
		return nil, fmt.Errorf("the scenario is not what locklab run reads: %w", err)
	}
	if file != out {
		err = os.MkdirAll(filepath.Dir(file), 0o755) //nolint:gosec // nothing secret
	}
	if err = cmp.Or(err, os.WriteFile(file, text, 0o644)); err != nil { //nolint:gosec // nothing secret
		return nil, fmt.Errorf("--out: write the scenario: %w", err)
	}
	least.Scenario, least.Replay = file, command
	return least, nil
}

// The times of real processes, beside which those of a simulation are short.
const (
	realCut    = 4 * time.Second // longer than the most patient detector, and than a lease
	realBefore = 2 * time.Second // work before the first fault
	realAfter  = 3 * time.Second // and after the last
	realLeast  = 12 * time.Second
	realMost   = 2 * time.Minute
)

// scenario is the finding as a scenario for real processes, and the command that plays it. The peers
// are the masters of a topology, and all times are longer by one factor.
func (m *simMinimal) scenario(lock string, load sim.Load, name, file string) (text []byte, command string, err error) {
	topology, masters, workload := "seoul-3az", []string{"master-a", "master-b", "master-c"}, "mutex"
	if m.Peers <= 2 {
		topology, masters = "seoul-2az", []string{"master-a", "master-c"}
	}
	first, last, shortest := 24*time.Hour, time.Duration(0), realCut
	crossing := true // nothing is cut or stops: it takes requests that cross
	for _, f := range m.Faults {
		first, last = min(first, f.From), max(last, f.Until)
		crossing = crossing && f.Kind == sim.Slow
		if f.Kind == sim.Partition { // rooms are made twice as soon as the lock is split
			workload = "matchmaking"
		}
		if f.Kind == sim.Partition || f.Kind == sim.Pause {
			shortest = min(shortest, f.Until-f.From)
		}
		if f.Kind == sim.Drift {
			return nil, "", errors.New("clocks of real processes cannot be made to drift")
		}
	}
	factor := 1.0
	if !crossing {
		factor = float64(realCut) / float64(shortest)
	}
	scale := func(d time.Duration) time.Duration {
		return time.Duration(float64(d) * factor).Round(10 * time.Millisecond)
	}
	length := max(scale(last)-scale(first), 0)
	switch {
	case m.Peers > len(masters):
		return nil, "", fmt.Errorf("it takes %d peers, and topologies have up to %d masters", m.Peers, len(masters))
	case m.Finding.Kind != sim.Overlap:
		return nil, "", fmt.Errorf("only overlapping holds are judged there, not %q", m.Finding.Kind)
	case load.GiveUp > 0:
		return nil, "", errors.New("it takes clients that give up early, and those of locklab run do not")
	case length > realMost:
		return nil, "", fmt.Errorf("with times that real processes can tell apart it would take %v", length)
	}
	command = fmt.Sprintf("locklab run --locks %s --scenarios %s --topology %s --workload %s --duration %v", lock,
		filepath.ToSlash(file), topology, workload, max(realBefore+length+realAfter, realLeast).Round(time.Second))
	var b bytes.Buffer
	step := func(format string, args ...any) { fmt.Fprintf(&b, "  - {"+format+"}\n", args...) }
	if crossing {
		command += " --clients 1 --hold 20ms"
		step("at: 0s, fault: jitter, between: [zones], jitter: 10ms") // requests cross by luck; this makes it likely
	}
	node := func(rank int) string { return strconv.Quote("node:" + masters[rank]) }
	for _, f := range m.Faults {
		at, length := scale(f.From)-scale(first)+realBefore, max(scale(f.Until-f.From), 100*time.Millisecond)
		fault := fmt.Sprintf("at: %v, for: %v, fault: %s", at, length, map[sim.Kind]string{
			sim.Crash: "kill", sim.Pause: "pause", sim.Partition: "partition, mode: hold",
			sim.Slow: fmt.Sprintf("latency, delay: %v", max(f.Delay.Round(time.Millisecond), time.Millisecond)),
		}[f.Kind])
		for _, a := range f.A {
			switch {
			case f.Kind == sim.Pause && a == m.Finding.A:
				step("%s, target: holder", fault) // what matters is that it holds then
			case len(f.B) == 0:
				step("%s, target: %s", fault, node(a))
			}
			for _, b := range f.B { // a step for every two masters
				if f.OneWay {
					step("%s, from: %s, to: %s", fault, node(a), node(b))
				} else {
					step("%s, between: [%s, %s]", fault, node(a), node(b))
				}
			}
		}
	}
	peers := strings.Join(masters[:m.Peers], ", ")
	return fmt.Appendf(nil, `# Found by locklab sim %s: %s
# Peers p0, p1, ... are %s; times are %.3g times as long. Replay:
#   %s
name: %s
summary: Found by simulation; two clients hold at once (%s).
timeline:
%sexpect:
  - {when: {lock: %q}, safety: unsafe}
`, lock, m.text, peers, factor, command, name, m.Finding.Name(), b.String(), lock), command, nil
}
