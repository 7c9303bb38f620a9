package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/progress"
	"locklab/internal/sentence"
	"locklab/locks/clock"
	"locklab/verify/sim"
)

// runCampaign runs all seeds and looks into the first violation.
func (f *simFlags) runCampaign(ctx context.Context, l catalog.Lock, plan sim.Plan, stdout, stderr io.Writer) error {
	start := clock.Mono()
	o, err := sim.Campaign(ctx, l.Core.Simulator, plan)
	if err != nil {
		return err
	}
	took := time.Duration(clock.Mono() - start)
	fmt.Fprintf(stderr, "locklab: %s in %v, %s messages a second\n", some(o.Done, "run"), sentence.Lasting(took), count(float64(o.Totals.Messages)/took.Seconds()))
	r := simReport{Lock: l.String(), Plan: plan, Outcome: o}
	if o.Bad() && !f.noShrink {
		if err := r.shrink(l.Core.Simulator, f.out); err != nil {
			return err
		}
	}
	if f.asJSON {
		err = r.json(stdout)
	} else {
		r.text(stdout)
	}
	switch {
	case err != nil:
		return err
	case o.Bad():
		return &exitError{code: exitViolated}
	case ctx.Err() != nil:
		return &exitError{code: exitInterrupted, err: fmt.Errorf("interrupted after %d of %d seeds", o.Done, plan.Seeds)}
	case o.Totals.Truncated > 0:
		return &exitError{code: exitInconclusive, err: fmt.Errorf("--max-events ended %s before a verdict", some(o.Totals.Truncated, "run"))}
	}
	return nil
}

// simReport is what is told of a campaign.
type simReport struct {
	Lock     string
	Plan     sim.Plan
	Outcome  sim.Outcome
	Minimal  *sim.Minimal // of the first violation
	First    sim.Group
	Trace    []string
	File     string // the scenario; "" if it cannot be one
	Command  string
	NoReplay error // why there is no scenario
}

// text writes it for people, on a terminal in lines that fit.
func (r *simReport) text(out io.Writer) {
	width, _ := progress.Width(out)
	var text strings.Builder
	r.tell(&text, width)
	_, _ = io.WriteString(out, folded(out, text.String()))
}

func (r *simReport) tell(w io.Writer, width int) {
	c, t := r.Plan.Config, &r.Outcome.Totals
	fmt.Fprintf(w, "%s: %s in %s, faults %s, seeds %d to %d, in each clients ask for %v of virtual time\n", r.Lock, some(c.Peers, "peer"), some(c.Zones, "zone"),
		kindsText(r.Plan.Kinds), uint64(c.Seed), uint64(c.Seed)+uint64(r.Outcome.Done)-1, sentence.Lasting(c.Duration))
	fmt.Fprintf(w, "  %s of virtual time, %s grants, %s messages, %.2f messages a grant\n",
		sentence.Lasting(t.Virtual.Round(time.Second)), count(float64(t.Grants)), count(float64(t.Messages)), t.PerGrant())
	r.findings(w)
	ranksTable(w, t, width)
	if r.Minimal == nil {
		return
	}
	m := r.Minimal
	if m.Finding.Kind == "" {
		fmt.Fprintf(w, "\nThe first violation (seed %d) does not show when it is run alone: this is a defect of the simulation.\n", uint64(r.First.First))
		return
	}
	fmt.Fprintf(w, "\nThe smallest case of %q (seed %d), after %s: seed %d, %s\n", r.First.Name, uint64(r.First.First), some(m.Runs, "run"), uint64(m.Config.Seed), loadText(m.Config))
	for _, fault := range m.Config.Faults {
		fmt.Fprintf(w, "  fault: %v\n", fault)
	}
	if len(m.Config.Faults) == 0 {
		fmt.Fprintln(w, "  no fault is needed")
	}
	fmt.Fprintf(w, "  %v\n\n", m.Finding)
	for _, line := range r.Trace {
		fmt.Fprintln(w, line)
	}
	if r.NoReplay != nil {
		fmt.Fprintf(w, "\nno scenario for real processes: %v\n", r.NoReplay)
		return
	}
	fmt.Fprintf(w, "\nscenario: %s\n%s\n", r.File, foldCommand("replay:   ", r.Command, width))
}

func (r *simReport) findings(w io.Writer) {
	if len(r.Outcome.Groups) == 0 {
		fmt.Fprintf(w, "  %s\n", r.nothing())
		return
	}
	fmt.Fprintln(w)
	found := textTable{left: true}
	found.row("  finding", "seeds", "times", "first seed", "there")
	for _, g := range r.Outcome.Groups {
		first := fmt.Sprint(uint64(g.First))
		if len(r.Plan.Holds) > 0 {
			first += fmt.Sprintf(", hold %v", g.Hold)
		}
		found.row("  "+g.Name, fmt.Sprint(g.Seeds), fmt.Sprint(g.Count), first, g.Example.String())
	}
	found.write(w, 0) // its last column is folded
	if !r.Outcome.Bad() {
		fmt.Fprintf(w, "  %s: %s\n", r.nothing(), strings.Join(harmless(r.Outcome.Groups), "; "))
	}
}

// nothing says that nothing was violated, and how far that goes.
func (r *simReport) nothing() string {
	text := "nothing was violated in " + some(r.Outcome.Done, "run")
	if n := r.Outcome.Totals.Truncated; n > 0 {
		text += fmt.Sprintf(", of which --max-events ended %d before a verdict", n)
	}
	return text
}

// harmless says why what was found violates nothing.
func harmless(groups []sim.Group) (why []string) {
	for _, k := range []struct {
		kind sim.FindingKind
		why  string
	}{
		{sim.Fenced, "a resource that checks tokens refuses the earlier holder of each fenced overlap as soon as it has seen the later one"},
		{sim.Forgot, "tokens were forgotten only where a majority had lost its memory, and more is not promised"},
	} {
		if slices.ContainsFunc(groups, func(g sim.Group) bool { return g.Example.Kind == k.kind }) {
			why = append(why, k.why)
		}
	}
	return why
}

// ranksTable shows the highest and the lowest ranks, and how even all were served.
func ranksTable(w io.Writer, t *sim.Totals, width int) {
	fmt.Fprintln(w)
	ranks := textTable{keys: 1}
	ranks.row("  rank", "grants", "gave up", "wait p50", "p99", "max", "passed, mean", "most")
	last := len(t.Ranks) - 1
	for i := range t.Ranks {
		const shown = 4
		if i >= shown && i <= last-shown {
			continue
		}
		name := fmt.Sprintf("p%d", i)
		switch i {
		case 0:
			name = "highest " + name
		case last:
			name = "lowest " + name
		}
		k := &t.Ranks[i]
		ranks.row("  "+name, strconv.FormatUint(k.Grants, 10), strconv.FormatUint(k.GiveUps, 10),
			ms(k.Wait.Quantile(0.5)), ms(k.Wait.Quantile(0.99)), ms(k.Wait.Max), fmt.Sprintf("%.2f", k.MeanBypass()), strconv.FormatUint(k.MaxBypass, 10))
	}
	ranks.write(w, width)
	fmt.Fprintf(w, "  waits in ms; passed: grants to others while a peer waits; Jain index of the grants %.4f\n", t.Jain())
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }

func kindsText(kinds []sim.Kind) string {
	if len(kinds) == 0 {
		return "none"
	}
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k)
	}
	return strings.Join(words, ",")
}

func loadText(c sim.Config) string {
	text := fmt.Sprintf("%s in %s, think %v, hold %v", some(c.Peers, "peer"), some(c.Zones, "zone"), c.Load.Think, c.Load.Hold)
	if c.Load.GiveUp > 0 {
		text += fmt.Sprintf(", give up after %v", c.Load.GiveUp)
	}
	return text
}

// some is a number of things in words: 1 peer, 2 peers.
func some(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// count writes a large number with three digits: 1.23M.
func count(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= unit.size {
			return fmt.Sprintf("%.3g%s", v/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.3g", v)
}

// simRank is a rank in --json.
type simRank struct {
	Rank       int     `json:"rank"`
	Grants     uint64  `json:"grants"`
	GaveUp     uint64  `json:"gave_up"`
	Lost       uint64  `json:"lost"`
	WaitMS     simWait `json:"wait_ms"`
	BypassMean float64 `json:"bypass_mean"`
	BypassMax  uint64  `json:"bypass_max"`
}

type simWait struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func waitOf(h *sim.Hist) simWait {
	in := func(d time.Duration) float64 { return float64(d) / 1e6 }
	return simWait{in(h.Quantile(0.5)), in(h.Quantile(0.99)), in(h.Max)}
}

func ranksOf(t *sim.Totals) []simRank {
	all := make([]simRank, len(t.Ranks))
	for i := range t.Ranks {
		k := &t.Ranks[i]
		all[i] = simRank{i, k.Grants, k.GiveUps, k.Lost, waitOf(&k.Wait), k.MeanBypass(), k.MaxBypass}
	}
	return all
}

// simMinimal is the smallest case in --json.
type simMinimal struct {
	Seed     uint64      `json:"seed"`
	Peers    int         `json:"peers"`
	Zones    int         `json:"zones"`
	Faults   []sim.Fault `json:"faults"`
	Finding  sim.Finding `json:"finding"`
	Trace    []string    `json:"trace"`
	Scenario string      `json:"scenario,omitempty"`
	Replay   string      `json:"replay,omitempty"`
	NoReplay string      `json:"no_replay,omitempty"`
}

func (r *simReport) json(w io.Writer) error {
	c, t := r.Plan.Config, &r.Outcome.Totals
	out := struct {
		Schema   string      `json:"schema"`
		Lock     string      `json:"lock"`
		Peers    int         `json:"peers"`
		Zones    int         `json:"zones"`
		Seed     uint64      `json:"seed"`
		Seeds    int         `json:"seeds"`
		Faults   []sim.Kind  `json:"faults"`
		Virtual  float64     `json:"virtual_s"`
		Grants   uint64      `json:"grants"`
		Messages uint64      `json:"messages"`
		PerGrant float64     `json:"messages_per_grant"`
		Violated bool        `json:"violated"`
		Unended  int         `json:"truncated"`
		Findings []sim.Group `json:"findings"`
		Jain     float64     `json:"jain"`
		WaitMS   simWait     `json:"wait_ms"`
		Handoff  simWait     `json:"handoff_ms"`
		Ranks    []simRank   `json:"ranks"`
		Minimal  *simMinimal `json:"minimal,omitempty"`
	}{
		"locklab/sim/v1", r.Lock, c.Peers, c.Zones, uint64(c.Seed), r.Outcome.Done, append([]sim.Kind{}, r.Plan.Kinds...),
		t.Virtual.Seconds(), t.Grants, t.Messages, t.PerGrant(), r.Outcome.Bad(), t.Truncated,
		append([]sim.Group{}, r.Outcome.Groups...), t.Jain(), waitOf(&t.Wait), waitOf(&t.Handoff), ranksOf(t), nil,
	}
	if m := r.Minimal; m != nil {
		out.Minimal = &simMinimal{
			uint64(m.Config.Seed), m.Config.Peers, m.Config.Zones, append([]sim.Fault{}, m.Config.Faults...), m.Finding, r.Trace, r.File, r.Command, "",
		}
		if r.NoReplay != nil {
			out.Minimal.NoReplay = r.NoReplay.Error()
		}
	}
	return writeJSON(w, out)
}
