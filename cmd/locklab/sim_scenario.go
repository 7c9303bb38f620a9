package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/chaos/scenario"
	"locklab/verify/sim"
)

// The times of real processes, beside which those of a simulation are short.
const (
	realCut    = 4 * time.Second // longer than the most patient detector, and than a lease
	realBefore = 2 * time.Second // work before the first fault
	realAfter  = 3 * time.Second // and after the last
	realLeast  = 12 * time.Second
	realMost   = 2 * time.Minute
)

// simDir is where the files of locklab sim go, unless --out says otherwise.
const simDir = "reports/sim"

// shrink makes the first violation small, traces it and writes it as a scenario.
func (r *simReport) shrink(simulator sim.Simulator, out string) error {
	r.First = r.Outcome.Groups[0]
	for _, g := range r.Outcome.Groups {
		if g.Example.Kind.Bad() && g.First < r.First.First {
			r.First = g
		}
	}
	m, err := sim.Shrink(simulator, r.Plan.Case(r.First.First), r.First.Example.Kind)
	if err != nil {
		return err
	}
	r.Minimal = &m
	if m.Finding.Kind == "" {
		return nil
	}
	var trace bytes.Buffer
	cfg := m.Config
	cfg.Trace = &trace
	if _, err := simulator.Run(cfg); err != nil {
		return err
	}
	r.Trace = lastLines(trace.String())
	var s replay
	if s, r.NoReplay = newReplay(r.Lock, m); r.NoReplay == nil {
		err = r.write(s, out)
	}
	return err
}

// lastLines are those of a trace that fit onto a screen or two.
func lastLines(trace string) []string {
	const most = 60
	lines := strings.Split(strings.TrimRight(trace, "\n"), "\n")
	if len(lines) <= most {
		return lines
	}
	return append([]string{fmt.Sprintf("(%d lines before)", len(lines)-most)}, lines[len(lines)-most:]...)
}

func (r *simReport) write(s replay, out string) error {
	if filepath.Ext(out) != ".yaml" {
		dir := cmp.Or(out, simDir)
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // nothing secret
			return fmt.Errorf("--out: %w", err)
		}
		out = filepath.Join(dir, s.name()+".yaml")
	}
	r.File, r.Command = out, s.command(out)
	text := s.yaml(r.Command, r.First)
	if _, err := scenario.Parse(out, text, ""); err != nil {
		return fmt.Errorf("the scenario is not what locklab run reads: %w", err)
	}
	if err := os.WriteFile(out, text, 0o644); err != nil { //nolint:gosec // a scenario holds nothing secret
		return fmt.Errorf("--out: write the scenario: %w", err)
	}
	return nil
}

// replay is a finding as a scenario for real processes.
type replay struct {
	lock     string
	minimal  sim.Minimal
	topology string
	masters  []string // by rank
	workload string
	crossing bool    // no cut, no stop: it takes requests that cross
	factor   float64 // by which all times are longer
	shift    time.Duration
	duration time.Duration
}

// newReplay maps the peers to the masters of a topology and the times to those that
// real processes need.
func newReplay(lock string, m sim.Minimal) (replay, error) {
	r := replay{lock: lock, minimal: m, workload: "mutex", factor: 1}
	switch {
	case m.Config.Peers <= 2:
		r.topology, r.masters = "seoul-2az", []string{"master-a", "master-c"}
	case m.Config.Peers == 3:
		r.topology, r.masters = "seoul-3az", []string{"master-a", "master-b", "master-c"}
	default:
		return r, fmt.Errorf("it takes %d peers, and the built-in topologies have up to 3 masters", m.Config.Peers)
	}
	switch {
	case m.Finding.Kind != sim.Overlap:
		return r, fmt.Errorf("only overlapping holds are judged there, not %q", m.Finding.Kind)
	case m.Config.Load.GiveUp > 0:
		return r, errors.New("it takes clients that give up early, and those of locklab run do not")
	}
	first, last := time.Duration(0), time.Duration(0)
	r.crossing = true
	shortest := realCut
	for i, f := range m.Config.Faults {
		if f.Kind == sim.Drift {
			return r, errors.New("clocks of real processes cannot be made to drift")
		}
		if i == 0 || f.From < first {
			first = f.From
		}
		last = max(last, f.Until)
		r.crossing = r.crossing && f.Kind == sim.Slow
		if f.Kind == sim.Partition || f.Kind == sim.Pause {
			shortest = min(shortest, f.Until-f.From)
		}
		if f.Kind == sim.Partition { // rooms are made twice as soon as the lock is split
			r.workload = "matchmaking"
		}
	}
	if !r.crossing {
		r.factor = float64(realCut) / float64(shortest)
	}
	if length := r.scale(last - first); length > realMost {
		return r, fmt.Errorf("with times that real processes can tell apart it would take %v", length)
	}
	r.shift = realBefore - r.scale(first)
	r.duration = max(realBefore+r.scale(last-first)+realAfter, realLeast).Round(time.Second)
	return r, nil
}

func (r replay) scale(d time.Duration) time.Duration {
	return time.Duration(float64(d) * r.factor).Round(10 * time.Millisecond)
}

func (r replay) name() string {
	var b strings.Builder
	for _, c := range fmt.Sprintf("sim-%s-%s-%d", r.lock, r.minimal.Finding.Kind, uint64(r.minimal.Config.Seed)) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			c = '-'
		}
		b.WriteRune(c)
	}
	return b.String()
}

func (r replay) command(file string) string {
	text := fmt.Sprintf("locklab run --locks %s --scenarios %s --topology %s --workload %s --duration %v",
		r.lock, filepath.ToSlash(file), r.topology, r.workload, r.duration)
	if r.crossing {
		text += " --clients 1 --hold 20ms"
	}
	return text
}

// yaml writes the scenario.
func (r replay) yaml(command string, first sim.Group) []byte {
	var b bytes.Buffer
	m := r.minimal
	fmt.Fprintf(&b, "# Found by locklab sim %s: %s, seed %d, made smaller (seed %d, %s).\n", r.lock, first.Name, uint64(first.First), uint64(m.Config.Seed), loadText(m.Config))
	fmt.Fprintf(&b, "# %v.\n#\n", m.Finding)
	if r.crossing {
		fmt.Fprintf(&b, "# It takes requests that cross, which is luck; paths whose latency varies make it\n# likely within seconds.\n")
	}
	if len(m.Config.Faults) > 0 {
		fmt.Fprintf(&b, "# In virtual time:\n")
		for _, f := range m.Config.Faults {
			fmt.Fprintf(&b, "#   %v\n", f)
		}
		if r.factor > 1 {
			fmt.Fprintf(&b, "# Real processes take longer to notice: the times below are %.3g times as long.\n", r.factor)
		}
	}
	fmt.Fprintf(&b, "# The peers p0, p1, ... are %s. Replay:\n#   %s\n", strings.Join(r.masters[:m.Config.Peers], ", "), command)
	fmt.Fprintf(&b, "name: %s\n", r.name())
	fmt.Fprintf(&b, "summary: Found by simulation; two clients hold at once (%s).\n", first.Name)
	fmt.Fprintf(&b, "timeline:\n")
	for _, s := range r.steps() {
		fmt.Fprintf(&b, "  - {%s}\n", s)
	}
	fmt.Fprintf(&b, "expect:\n  - {when: {lock: %q}, safety: unsafe}\n", r.lock)
	return b.Bytes()
}

// steps are the faults; those between two sides take one step for every two masters.
func (r replay) steps() (steps []string) {
	if r.crossing {
		steps = append(steps, "at: 0s, fault: jitter, between: [zones], jitter: 10ms")
	}
	for _, f := range r.minimal.Config.Faults {
		when := fmt.Sprintf("at: %v, for: %v", r.scale(f.From)+r.shift, max(r.scale(f.Until-f.From), 100*time.Millisecond))
		node := func(rank int) string { return fmt.Sprintf("%q", "node:"+r.masters[rank]) }
		switch f.Kind {
		case sim.Crash, sim.Pause:
			fault := map[sim.Kind]string{sim.Crash: "kill", sim.Pause: "pause"}[f.Kind]
			for _, a := range f.A {
				target := node(a)
				if f.Kind == sim.Pause && a == r.minimal.Finding.A {
					target = "holder" // what matters is that it holds then
				}
				steps = append(steps, fmt.Sprintf("%s, fault: %s, target: %s", when, fault, target))
			}
		default:
			how := "fault: partition, mode: hold"
			if f.Kind == sim.Slow {
				how = fmt.Sprintf("fault: latency, delay: %v", max(f.Delay.Round(time.Millisecond), time.Millisecond))
			}
			for _, a := range f.A {
				for _, b := range f.B {
					who := fmt.Sprintf("between: [%s, %s]", node(a), node(b))
					if f.OneWay {
						who = fmt.Sprintf("from: %s, to: %s", node(a), node(b))
					}
					steps = append(steps, fmt.Sprintf("%s, %s, %s", when, how, who))
				}
			}
		}
	}
	return slices.Compact(steps)
}
