package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/progress"
	"locklab/internal/seed"
	"locklab/internal/sentence"
	"locklab/locks/clock"
	"locklab/locks/peerlock/peercore"
	"locklab/verify/sim"
)

// simFlags is what the user typed.
type simFlags struct {
	peers, zones, seeds, clients int
	seed                         uint64
	faults                       []string
	duration                     time.Duration
	think, hold, giveUp          time.Duration
	jitter                       float64
	trace, fairness, asJSON      bool
	early, noShrink              bool
	given                        map[string]bool // on the command line
	sweep, out                   string
	against                      []string
	maxEvents                    uint64
}

func newSim() *cobra.Command {
	var f simFlags
	cmd := &cobra.Command{
		Use:   "sim LOCK",
		Short: "Simulate a peer-to-peer lock in virtual time, faults from a seed",
		Long: `sim runs the very core of a peer-to-peer lock in virtual time: peers in zones,
latencies between them, clients that want one resource, and faults that are
drawn from the seed. It looks for two clients that hold at once, tokens that do
not grow and peers that are never served, and says how long each rank waited
and how often it was passed. The same seed and the same build give the same
output.

What the first violation needs is made as small as possible, shown as a trace
and written as a scenario that locklab run replays on real processes.

Faults: partition (what is sent arrives after the heal), crash (the process
loses its memory and starts again), pause, slow (a path takes longer), drift
(clocks).

--sweep measures messages and latencies against the number of peers; --fairness
says whether anybody starves under saturation.

Exit codes: 0 nothing was violated; 2 something was; 4 the bounds ended runs
before a verdict; 1 bad input; 130 interrupted. --sweep and --fairness only
measure: what is violated there is told, and the code is 0.`,
		Example: `  locklab sim multiphase --seeds 10000 --faults partition,crash,pause
  locklab sim multiphase:rule=literal            unsafe with nothing broken
  locklab sim multiphase --faults partition --seed 2 --trace | less
  locklab sim lamport --peers 10 --zones 3 --give-up 50ms --json
  locklab sim multiphase --sweep peers=2..1000 --against lamport,ricart-agrawala
  locklab sim multiphase --fairness`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = map[string]bool{}
			cmd.Flags().Visit(func(flag *pflag.Flag) { f.given[flag.Name] = true })
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
		ValidArgsFunction: specs(catalog.PeerNames),
	}
	fl := cmd.Flags()
	fl.IntVar(&f.peers, "peers", 3, "peers, 1 to 1024; rank 0 is the highest")
	fl.IntVar(&f.zones, "zones", 0, "zones that the peers are dealt over, up to 30: three of a region, then three of the next (default: as many as peers, up to 3)")
	fl.Uint64Var(&f.seed, "seed", 1, "first seed")
	fl.IntVar(&f.seeds, "seeds", 1000, "how many seeds to run, one after the other")
	listFlag(fl, &f.faults, "faults", "kinds of faults to draw: partition, crash, pause, slow, drift (default none)")
	fl.DurationVar(&f.duration, "duration", 10*time.Second, "virtual time of a run; faults end before it does")
	fl.DurationVar(&f.think, "think", 20*time.Millisecond, "mean time between a release and the client's next request")
	fl.DurationVar(&f.hold, "hold", holdPlain, "mean time that a client holds; with --faults, and if it is not given, every seed draws one of "+holdsText())
	fl.DurationVar(&f.giveUp, "give-up", 0, "mean patience of a client that waits (default endless)")
	fl.IntVar(&f.clients, "clients", 1, "clients in each peer")
	fl.Float64Var(&f.jitter, "jitter", 0.2, "how much longer a message may take, as a share of the way's latency")
	fl.BoolVar(&f.early, "early", false, "clients ask before their peer has met all others (Locker.Ready)")
	fl.Uint64Var(&f.maxEvents, "max-events", 200_000_000, "events that end a single run")
	fl.BoolVar(&f.trace, "trace", false, "run only --seed and print every event")
	fl.BoolVar(&f.noShrink, "no-shrink", false, "do not make the first violation smaller, write no scenario")
	fl.StringVar(&f.sweep, "sweep", "", "measure against the number of peers, such as peers=2..1000")
	fl.StringArrayVar(&f.against, "against", nil, "with --sweep: other locks to compare with, A,B or repeated")
	fl.BoolVar(&f.fairness, "fairness", false, "compare how even ranks are served under saturation")
	fl.StringVar(&f.out, "out", "", "directory for the scenario (or its file, a name ending in .yaml), or for the sweep's page and table (default "+simDir+")")
	fl.BoolVar(&f.asJSON, "json", false, "print a JSON object")
	completions(cmd, map[string]cobra.CompletionFunc{"faults": list(kindNames), "against": specs(catalog.PeerNames), "out": files(nothing)})
	return cmd
}

func (f *simFlags) run(ctx context.Context, lock string, stdout, stderr io.Writer) error {
	l, err := catalog.ParsePeers(lock)
	if err != nil {
		return err
	}
	plan, err := f.plan()
	if err != nil {
		return err
	}
	switch {
	case f.sweep != "":
		return f.runSweep(ctx, l, stdout, stderr)
	case f.fairness:
		return f.runFairness(ctx, l, plan, stdout)
	case f.trace:
		return f.runTrace(l, plan, stdout)
	}
	return f.runCampaign(ctx, l, plan, stdout, stderr)
}

// plan checks the flags.
func (f *simFlags) plan() (sim.Plan, error) {
	zones := f.zones
	if zones == 0 {
		zones = min(f.peers, 3)
	}
	switch {
	case f.peers < 1 || f.peers > peercore.MaxPeers:
		return sim.Plan{}, fmt.Errorf("--peers: %d: want 1 to %d", f.peers, peercore.MaxPeers)
	case zones < 1 || zones > sim.MaxZones:
		return sim.Plan{}, fmt.Errorf("--zones: %d: want 1 to %d", f.zones, sim.MaxZones)
	case f.seeds < 1:
		return sim.Plan{}, fmt.Errorf("--seeds: %d: want 1 or more", f.seeds)
	case f.clients < 1 || f.clients > 10000:
		return sim.Plan{}, fmt.Errorf("--clients: %d: want 1 to 10000", f.clients)
	case f.duration < time.Millisecond || f.duration > 24*time.Hour:
		return sim.Plan{}, fmt.Errorf("--duration: %v: want 1ms to 24h of virtual time", f.duration)
	case f.think < 0 || f.hold < 0 || f.giveUp < 0:
		return sim.Plan{}, errors.New("--think, --hold, --give-up: want no negative time")
	case f.think == 0 && f.hold == 0 && f.peers == 1:
		return sim.Plan{}, errors.New("--think and --hold: with one peer, want one of them above 0, or no time would pass")
	case !(f.jitter >= 0 && f.jitter <= 100):
		return sim.Plan{}, fmt.Errorf("--jitter: %v: want a share from 0 to 100, such as 0.2", f.jitter)
	case f.maxEvents < 1:
		return sim.Plan{}, errors.New("--max-events: want 1 or more")
	case len(f.against) > 0 && f.sweep == "":
		return sim.Plan{}, errors.New("--against: only with --sweep")
	}
	if err := f.checkMode(); err != nil {
		return sim.Plan{}, err
	}
	kinds, err := f.kinds()
	if err != nil {
		return sim.Plan{}, err
	}
	var holds []time.Duration
	if len(kinds) > 0 && !f.given["hold"] {
		holds = sim.Holds()
	}
	return sim.Plan{
		Config: sim.Config{
			Peers: f.peers, Zones: zones, Seed: seed.Seed(f.seed), Duration: f.duration, MaxEvents: f.maxEvents,
			Load:    sim.Load{Clients: f.clients, Think: f.think, Hold: f.hold, GiveUp: f.giveUp, Early: f.early},
			Network: sim.Network{Jitter: max(f.jitter, 1e-9)}, // 0 would be the default
		},
		Seeds: f.seeds, Kinds: kinds, Holds: holds,
	}, nil
}

// checkMode refuses flags that what is asked for does not heed: who gave one takes it for done.
func (f *simFlags) checkMode() error {
	for _, mode := range []struct {
		flag  string
		on    bool
		heeds []string
	}{
		{"sweep", f.sweep != "", []string{"against", "seed", "out", "json"}},
		{"fairness", f.fairness, []string{"peers", "seed", "seeds", "duration", "hold", "clients", "max-events", "json"}},
		{"trace", f.trace, []string{
			"peers", "zones", "seed", "seeds", "faults", "duration", "think", "hold", "give-up", "clients", "jitter", "early", "max-events", "no-shrink", "out",
		}},
	} {
		if !mode.on {
			continue
		}
		for _, flag := range slices.Sorted(maps.Keys(f.given)) {
			if flag != mode.flag && !slices.Contains(mode.heeds, flag) {
				return fmt.Errorf("--%s: not with --%s, which heeds --%s", flag, mode.flag, strings.Join(mode.heeds, ", --"))
			}
		}
	}
	if f.fairness && f.given["seeds"] && f.seeds > fairSeeds {
		return fmt.Errorf("--seeds: %d: want 1 to %d with --fairness", f.seeds, fairSeeds)
	}
	return nil
}

func kindNames() (names []string) {
	for _, k := range sim.Kinds() {
		names = append(names, string(k))
	}
	return names
}

func (f *simFlags) kinds() (kinds []sim.Kind, err error) {
	for _, word := range f.faults {
		kind := sim.Kind(strings.TrimSpace(word))
		if kind == "none" && len(f.faults) == 1 {
			return nil, nil
		}
		if !slices.Contains(sim.Kinds(), kind) {
			return nil, fmt.Errorf("--faults: unknown kind %q: want some of %s", word, strings.Join(kindNames(), " "))
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// runTrace prints all that happens under one seed.
func (f *simFlags) runTrace(l catalog.Lock, plan sim.Plan, stdout io.Writer) error {
	cfg := plan.Case(plan.Config.Seed)
	width, _ := progress.Width(stdout)
	out := &sticky{w: stdout, width: width}
	cfg.Trace = out
	hold := ""
	if len(plan.Holds) > 0 {
		hold = fmt.Sprintf(", hold %v", cfg.Load.Hold)
	}
	fmt.Fprintf(out, "seed %d%s, times in milliseconds of virtual time\n", f.seed, hold)
	for _, fault := range cfg.Faults {
		fmt.Fprintf(out, "fault: %v\n", fault)
	}
	r, err := l.Core.Simulator.Run(cfg)
	switch {
	case err != nil:
		return err
	case out.err != nil: // such as a pipe that nobody reads any more
		return fmt.Errorf("--trace: %w", out.err)
	case r.Bad() != nil:
		return &exitError{code: exitViolated}
	case r.Truncated > 0:
		return &exitError{code: exitInconclusive, err: errors.New("--max-events ended the run before a verdict")}
	}
	return nil
}

const holdPlain = 5 * time.Millisecond // where nothing is broken

func holdsText() string {
	var words []string
	for _, d := range sim.Holds() {
		words = append(words, d.String())
	}
	return strings.Join(words, ", ")
}

// sticky remembers the first error and writes nothing more. What it is told is whole lines,
// which it breaks for a terminal of so many columns.
type sticky struct {
	w     io.Writer
	width int // 0: any
	err   error
}

func (s *sticky) Write(p []byte) (int, error) {
	if s.err == nil && s.width == 0 {
		_, s.err = s.w.Write(p)
	} else if s.err == nil {
		_, s.err = io.WriteString(s.w, fold(string(p), s.width))
	}
	return len(p), nil
}

// parseSweep reads peers=2..1000.
func parseSweep(text string) (low, high int, err error) {
	wrong := fmt.Errorf("--sweep: %q: want peers=LOW..HIGH, such as peers=2..1000, within 2 and %d", text, 1000)
	span, ok := strings.CutPrefix(text, "peers=")
	from, to, both := strings.Cut(span, "..")
	if !ok || !both {
		return 0, 0, wrong
	}
	low, err1 := strconv.Atoi(from)
	high, err2 := strconv.Atoi(to)
	if errors.Join(err1, err2) != nil || low < 2 || high < low || high > 1000 {
		return 0, 0, wrong
	}
	return low, high, nil
}

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
