package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/progress"
	"locklab/internal/seed"
	"locklab/internal/sentence"
	"locklab/locks/peerlock/peercore"
	"locklab/reports/lang"
	"locklab/reports/page"
	"locklab/reports/plots"
	"locklab/verify/sim"
)

const (
	simDir    = "reports/sim" // where files go, unless --out says otherwise
	fairSeeds = 100           // of each lock in each network
	sweepMost = 1000          // peers
)

// simFlags is what the user typed.
type simFlags struct {
	set                          *pflag.FlagSet
	peers, zones, seeds, clients int
	seed                         uint64
	faults, against              []string
	duration                     time.Duration
	think, hold, giveUp          time.Duration
	jitter                       float64
	trace, fairness, asJSON      bool
	noShrink                     bool
	sweep, out                   string
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
says whether a peer starves under saturation.

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
			f.set = cmd.Flags()
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
	fl.DurationVar(&f.hold, "hold", 5*time.Millisecond, "mean time that a client holds; with --faults, and if it is not given, every seed draws one of 5ms, 1s, 3s")
	fl.DurationVar(&f.giveUp, "give-up", 0, "mean patience of a client that waits (default endless)")
	fl.IntVar(&f.clients, "clients", 1, "clients in each peer")
	fl.Float64Var(&f.jitter, "jitter", 0.2, "how much longer a message may take, as a share of the way's latency")
	fl.Uint64Var(&f.maxEvents, "max-events", 200_000_000, "events that end a single run")
	fl.BoolVar(&f.trace, "trace", false, "run only --seed and print every event")
	fl.BoolVar(&f.noShrink, "no-shrink", false, "do not make the first violation smaller, write no scenario")
	fl.StringVar(&f.sweep, "sweep", "", "measure against the number of peers, such as peers=2..1000")
	fl.StringArrayVar(&f.against, "against", nil, "with --sweep: other locks to compare with, A,B or repeated")
	fl.BoolVar(&f.fairness, "fairness", false, "compare how even ranks are served under saturation")
	fl.StringVar(&f.out, "out", "", "directory for the scenario (or its file, a name ending in .yaml), or for the sweep's page (default "+simDir+")")
	fl.BoolVar(&f.asJSON, "json", false, "print a JSON object")
	completions(cmd, map[string]cobra.CompletionFunc{
		"faults": list(simKinds), "against": specs(catalog.PeerNames), "out": files(nothing),
	})
	return cmd
}

func simKinds() (names []string) {
	for _, k := range sim.Kinds() {
		names = append(names, string(k))
	}
	return names
}

func (f *simFlags) run(ctx context.Context, lock string, stdout, stderr io.Writer) error {
	l, err := catalog.ParsePeers(lock)
	if err != nil {
		return err
	}
	plan, err := f.plan()
	switch {
	case err != nil:
		return err
	case f.sweep != "":
		return f.runSweep(ctx, l, stdout, stderr)
	case f.fairness:
		return f.runFairness(ctx, l, plan, stdout)
	case f.trace:
		return f.runTrace(l, plan, stdout)
	}
	return f.runCampaign(ctx, l, plan, stdout)
}

// plan checks the flags.
func (f *simFlags) plan() (plan sim.Plan, err error) {
	zones := f.zones
	if zones == 0 {
		zones = min(f.peers, 3)
	}
	for _, check := range []struct {
		flag string
		ok   bool
		want string
	}{
		{"peers", f.peers >= 1 && f.peers <= peercore.MaxPeers, fmt.Sprintf("1 to %d", peercore.MaxPeers)},
		{"peers", !f.fairness || f.peers >= 2 && f.peers <= sim.MaxZones, fmt.Sprintf("2 to %d with --fairness", sim.MaxZones)},
		{"zones", zones >= 1 && zones <= sim.MaxZones, fmt.Sprintf("1 to %d", sim.MaxZones)},
		{"seeds", f.seeds >= 1, "1 or more"},
		{"seeds", !f.fairness || !f.set.Changed("seeds") || f.seeds <= fairSeeds, fmt.Sprintf("1 to %d with --fairness", fairSeeds)},
		{"clients", f.clients >= 1 && f.clients <= 10000, "1 to 10000"},
		{"duration", f.duration >= time.Millisecond && f.duration <= 24*time.Hour, "1ms to 24h of virtual time"},
		{"think", f.think > 0 || f.think == 0 && (f.hold > 0 || f.peers > 1), "0 or more, and with one peer more, or in --hold"},
		{"hold", f.hold >= 0, "no negative time"},
		{"give-up", f.giveUp >= 0, "no negative time"},
		{"jitter", f.jitter >= 0 && f.jitter <= 100, "a share from 0 to 100, such as 0.2"},
		{"max-events", f.maxEvents >= 1, "1 or more"},
		{"against", len(f.against) == 0 || f.sweep != "", "it only with --sweep"},
	} {
		if !check.ok {
			return plan, fmt.Errorf("--%s %v: want %s", check.flag, f.set.Lookup(check.flag).Value, check.want)
		}
	}
	if err := f.checkMode(); err != nil {
		return plan, err
	}
	plan = sim.Plan{
		Config: sim.Config{
			Peers: f.peers, Zones: zones, Seed: seed.Seed(f.seed), Duration: f.duration, MaxEvents: f.maxEvents,
			Load:    sim.Load{Clients: f.clients, Think: f.think, Hold: f.hold, GiveUp: f.giveUp},
			Network: sim.Network{Jitter: max(f.jitter, 1e-9)}, // 0 would be the default
		},
		Seeds: f.seeds, Kinds: []sim.Kind{},
	}
	for _, word := range f.faults {
		kind := sim.Kind(strings.TrimSpace(word))
		if !slices.Contains(sim.Kinds(), kind) {
			return plan, fmt.Errorf("--faults: unknown kind %q: want some of %s", word, strings.Join(simKinds(), " "))
		}
		plan.Kinds = append(plan.Kinds, kind)
	}
	if len(plan.Kinds) > 0 && !f.set.Changed("hold") {
		plan.Holds = sim.Holds()
	}
	return plan, nil
}

// checkMode refuses flags that what is asked for does not heed.
func (f *simFlags) checkMode() (err error) {
	for _, mode := range []struct {
		flag  string
		on    bool
		heeds string
	}{
		{"sweep", f.sweep != "", "against seed out json"},
		{"fairness", f.fairness, "peers seed seeds duration hold clients max-events"},
		{"trace", f.trace, "peers zones seed seeds faults duration think hold give-up clients jitter max-events no-shrink out"},
	} {
		f.set.Visit(func(flag *pflag.Flag) {
			if mode.on && flag.Name != mode.flag && !slices.Contains(strings.Fields(mode.heeds), flag.Name) {
				err = fmt.Errorf("--%s: not with --%s, which heeds %s", flag.Name, mode.flag, mode.heeds)
			}
		})
	}
	return err
}

// lineWriter breaks whole lines for a terminal and keeps the first error.
type lineWriter struct {
	w   io.Writer
	err error
}

func (l *lineWriter) Write(p []byte) (int, error) {
	if l.err == nil {
		_, l.err = io.WriteString(l.w, folded(l.w, string(p)))
	}
	return len(p), nil
}

// runTrace prints all that happens under one seed.
func (f *simFlags) runTrace(l catalog.Lock, plan sim.Plan, stdout io.Writer) error {
	cfg := plan.Case(plan.Config.Seed)
	out := &lineWriter{w: stdout}
	cfg.Trace = out
	fmt.Fprintf(out, "seed %d, hold %v, times in milliseconds of virtual time\n", f.seed, cfg.Load.Hold)
	for _, fault := range cfg.Faults {
		fmt.Fprintf(out, "fault: %v\n", fault)
	}
	r := l.Core.Simulator(cfg)
	switch {
	case out.err != nil: // such as a pipe that is read no more
		return fmt.Errorf("--trace: %w", out.err)
	case r.Bad() != nil:
		return &exitError{code: exitViolated}
	}
	return truncated(r.Truncated)
}

// truncated is the error of runs that were ended.
func truncated(runs int) error {
	if runs == 0 {
		return nil
	}
	return &exitError{code: exitInconclusive, err: fmt.Errorf("--max-events ended %s before a verdict", some(runs, "run"))}
}

// simReport is what is told of a campaign, as text and as --json.
type simReport struct {
	Schema   string      `json:"schema"`
	Lock     string      `json:"lock"`
	Peers    int         `json:"peers"`
	Zones    int         `json:"zones"`
	Faults   []sim.Kind  `json:"faults"`
	Seed     uint64      `json:"seed"`
	Violated bool        `json:"violated"`
	Totals   sim.Totals  `json:"totals"`
	Findings []sim.Group `json:"findings"`
	Minimal  *simMinimal `json:"minimal,omitempty"` // of the first violation

	duration time.Duration
}

// simMinimal is the smallest case.
type simMinimal struct {
	Seed     uint64      `json:"seed"`
	Peers    int         `json:"peers"`
	Faults   []sim.Fault `json:"faults"`
	Finding  sim.Finding `json:"finding"`
	Trace    []string    `json:"trace"`
	Scenario string      `json:"scenario,omitempty"`
	Replay   string      `json:"replay,omitempty"`
	NoReplay string      `json:"no_replay,omitempty"`

	text string // what it is
}

// runCampaign runs all seeds and looks into the first violation.
func (f *simFlags) runCampaign(ctx context.Context, l catalog.Lock, plan sim.Plan, stdout io.Writer) error {
	o := sim.Campaign(ctx, l.Core.Simulator, plan)
	t := &o.Totals
	r := simReport{
		"locklab/sim/v2", l.String(), f.peers, plan.Config.Zones, plan.Kinds, f.seed, o.Bad(), *t,
		append([]sim.Group{}, o.Groups...), nil, f.duration,
	}
	if o.Bad() && !f.noShrink {
		if err := r.shrink(l.Core.Simulator, plan, f.out); err != nil {
			return err
		}
	}
	if f.asJSON {
		if err := writeJSON(stdout, r); err != nil {
			return err
		}
	} else {
		r.text(stdout)
	}
	switch {
	case o.Bad():
		return &exitError{code: exitViolated}
	case ctx.Err() != nil:
		return &exitError{code: exitInterrupted, err: fmt.Errorf("interrupted after %d of %d seeds", t.Runs, plan.Seeds)}
	}
	return truncated(t.Truncated)
}

// text tells it to people.
func (r *simReport) text(out io.Writer) {
	width, _ := progress.Width(out)
	w, t := new(strings.Builder), &r.Totals
	verdict := "nothing was violated in " + some(t.Runs, "run")
	if r.Violated {
		verdict = "VIOLATED"
	} else if t.Truncated > 0 {
		verdict += fmt.Sprintf(", of which --max-events ended %d before a verdict", t.Truncated)
	}
	kinds := cmp.Or(strings.Trim(fmt.Sprint(r.Faults), "[]"), "none")
	tellFacts(w, []page.Fact{
		{Name: "lock", Lines: []string{r.Lock}},
		{Name: "simulated", Lines: []string{fmt.Sprintf("%s in %s, faults %s, seeds %d to %d, in each clients ask for %v of virtual time",
			some(r.Peers, "peer"), some(r.Zones, "zone"), kinds, r.Seed, r.Seed+uint64(t.Runs)-1, sentence.Lasting(r.duration))}},
		{Name: "seen", Lines: []string{fmt.Sprintf("%v of virtual time, %d grants, %d messages, %.2f messages a grant",
			sentence.Lasting(t.Virtual.Round(time.Second)), t.Grants, t.Messages, t.PerGrant())}},
		{Name: "verdict", Lines: append([]string{verdict}, harmless(r.Findings)...)},
	})
	if len(r.Findings) > 0 {
		fmt.Fprintln(w)
		found := textTable{left: true, rows: [][]string{{"  finding", "seeds", "times", "first seed", "hold", "there"}}}
		for _, g := range r.Findings {
			found.row("  "+g.Name, fmt.Sprint(g.Seeds), fmt.Sprint(g.Count), fmt.Sprint(uint64(g.First)), fmt.Sprint(g.Hold),
				g.Example.String())
		}
		found.write(w, 0) // its last column is folded
	}
	fmt.Fprintln(w)
	ranks := textTable{keys: 1, rows: [][]string{{
		"  rank", "grants", "gave up", "wait p50", "p99", "max", "passed, mean", "most",
	}}}
	for i := range t.Ranks {
		const shown = 4
		k := &t.Ranks[i]
		if wait := k.Wait.Spread(); i < shown || i >= len(t.Ranks)-shown {
			ranks.row(fmt.Sprintf("  p%d", i), fmt.Sprint(k.Grants), fmt.Sprint(k.GiveUps), ms(wait.P50), ms(wait.P99),
				ms(wait.Max), fmt.Sprintf("%.2f", k.BypassMean()), fmt.Sprint(k.BypassMax))
		}
	}
	ranks.write(w, width)
	fmt.Fprintf(w, "  waits in ms; passed: grants to others while a peer waits; Jain index of the grants %.4f\n", t.Jain())
	if m := r.Minimal; m != nil {
		fmt.Fprintf(w, "\nThe smallest case: %s\n  %v\n\n%s\n\n", m.text, m.Finding, strings.Join(m.Trace, "\n"))
		if m.NoReplay != "" {
			fmt.Fprintf(w, "no scenario for real processes: %s\n", m.NoReplay)
		} else {
			fmt.Fprintf(w, "scenario: %s\n%s\n", m.Scenario, foldCommand("replay:   ", m.Replay, width))
		}
	}
	_, _ = io.WriteString(out, folded(out, w.String()))
}

// harmless says why what was found violates nothing.
func harmless(groups []sim.Group) (why []string) {
	for kind, text := range map[sim.FindingKind]string{
		sim.Fenced: "a resource that checks tokens refuses the earlier holder of each fenced overlap as soon as it has seen the later one",
		sim.Forgot: "tokens were forgotten only where a majority had lost its memory, and more is not promised",
	} {
		if slices.ContainsFunc(groups, func(g sim.Group) bool { return g.Example.Kind == kind }) {
			why = append(why, text)
		}
	}
	slices.Sort(why)
	return why
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }

// some is a number of things in words: 1 peer, 2 peers.
func some(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shrink makes the first violation small, traces it and writes it as a scenario.
func (r *simReport) shrink(simulator sim.Simulator, plan sim.Plan, out string) error {
	first := r.Findings[0]
	for _, g := range r.Findings {
		if g.Example.Kind.Bad() && g.First < first.First {
			first = g
		}
	}
	m := sim.Shrink(simulator, plan.Case(first.First), first.Example.Kind)
	var trace bytes.Buffer
	cfg := m.Config
	cfg.Trace = &trace
	simulator(cfg)
	const most = 60
	lines := strings.Split(strings.TrimRight(trace.String(), "\n"), "\n")
	r.Minimal = &simMinimal{
		Seed: uint64(cfg.Seed), Peers: cfg.Peers, Faults: append([]sim.Fault{}, cfg.Faults...), Finding: m.Finding,
		Trace: lines[max(0, len(lines)-most):],
		text: fmt.Sprintf("%s (seed %d), after %s: seed %d, %s in %s, think %v, hold %v, give up after %v, faults %v",
			first.Name, uint64(first.First), some(m.Runs, "run"), uint64(cfg.Seed), some(cfg.Peers, "peer"),
			some(cfg.Zones, "zone"), cfg.Load.Think, cfg.Load.Hold, cfg.Load.GiveUp, cfg.Faults),
	}
	name := fmt.Sprintf("sim-%s-%s-%d", r.Lock, m.Finding.Kind, uint64(cfg.Seed))
	name = regexp.MustCompile(`[^a-z0-9]`).ReplaceAllString(name, "-")
	file := out
	if filepath.Ext(out) != ".yaml" {
		file = filepath.Join(cmp.Or(out, simDir), name+".yaml")
	}
	text, command, err := r.Minimal.scenario(r.Lock, cfg.Load, name, file)
	if err != nil {
		r.Minimal.NoReplay = err.Error()
		return nil //nolint:nilerr // it is told where the command would be
	}
	if _, err := scenario.Parse(file, text, ""); err != nil {
		return fmt.Errorf("the scenario is not what locklab run reads: %w", err)
	}
	if file != out {
		err = os.MkdirAll(filepath.Dir(file), 0o755) //nolint:gosec // nothing secret
	}
	if err = cmp.Or(err, os.WriteFile(file, text, 0o644)); err != nil { //nolint:gosec // nothing secret
		return fmt.Errorf("--out: write the scenario: %w", err)
	}
	r.Minimal.Scenario, r.Minimal.Replay = file, command
	return nil
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
		switch f.Kind {
		case sim.Drift:
			return nil, "", errors.New("clocks of real processes cannot be made to drift")
		case sim.Partition: // rooms are made twice as soon as the lock is split
			shortest, workload = min(shortest, f.Until-f.From), "matchmaking"
		case sim.Pause:
			shortest = min(shortest, f.Until-f.From)
		default:
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
		return nil, "", fmt.Errorf("it takes %d peers, and the built-in topologies have up to %d masters", m.Peers, len(masters))
	case m.Finding.Kind != sim.Overlap:
		return nil, "", fmt.Errorf("only overlapping holds are judged there, not %q", m.Finding.Kind)
	case load.GiveUp > 0:
		return nil, "", errors.New("it takes clients that give up early, and those of locklab run do not")
	case length > realMost:
		return nil, "", fmt.Errorf("with times that real processes can tell apart it would take %v", length)
	}
	duration := max(realBefore+length+realAfter, realLeast).Round(time.Second)
	command = fmt.Sprintf("locklab run --locks %s --scenarios %s --topology %s --workload %s --duration %v",
		lock, filepath.ToSlash(file), topology, workload, duration)
	if crossing {
		command += " --clients 1 --hold 20ms"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Found by locklab sim %s: %s\n# Peers p0, p1, ... are %s; times are %.3g times as long. Replay:\n#   %s\n",
		lock, m.text, strings.Join(masters[:m.Peers], ", "), factor, command)
	fmt.Fprintf(&b, "name: %s\nsummary: Found by simulation; two clients hold at once (%s).\ntimeline:\n",
		name, m.Finding.Name())
	step := func(format string, args ...any) { fmt.Fprintf(&b, "  - {"+format+"}\n", args...) }
	if crossing {
		step("at: 0s, fault: jitter, between: [zones], jitter: 10ms") // requests cross by luck; this makes it likely
	}
	node := func(rank int) string { return strconv.Quote("node:" + masters[rank]) }
	for _, f := range m.Faults {
		at, length := scale(f.From)-scale(first)+realBefore, max(scale(f.Until-f.From), 100*time.Millisecond)
		when := fmt.Sprintf("at: %v, for: %v", at, length)
		how := map[sim.Kind]string{
			sim.Crash: "kill", sim.Pause: "pause", sim.Partition: "partition, mode: hold",
			sim.Slow: fmt.Sprintf("latency, delay: %v", max(f.Delay.Round(time.Millisecond), time.Millisecond)),
		}[f.Kind]
		for _, a := range f.A {
			target := node(a)
			if f.Kind == sim.Pause && a == m.Finding.A {
				target = "holder" // what matters is that it holds then
			}
			if len(f.B) == 0 {
				step("%s, fault: %s, target: %s", when, how, target)
			}
			for _, b := range f.B { // a step for every two masters
				between := fmt.Sprintf("between: [%s, %s]", node(a), node(b))
				if f.OneWay {
					between = fmt.Sprintf("from: %s, to: %s", node(a), node(b))
				}
				step("%s, fault: %s, %s", when, how, between)
			}
		}
	}
	fmt.Fprintf(&b, "expect:\n  - {when: {lock: %q}, safety: unsafe}\n", lock)
	return b.Bytes(), command, nil
}

// runSweep measures the lock, and those that it is compared with, for 1, 2, 5 of every power of ten
// peers and both ends, in a region, in four around the western Pacific and in ten all over the world.
func (f *simFlags) runSweep(ctx context.Context, l catalog.Lock, stdout, stderr io.Writer) error {
	var low, high int
	_, err := fmt.Sscanf(f.sweep+" ", "peers=%d..%d ", &low, &high)
	if err != nil || low < 2 || high < low || high > sweepMost {
		return fmt.Errorf("--sweep: %q: want peers=LOW..HIGH, such as peers=2..1000, within 2 and %d", f.sweep, sweepMost)
	}
	others, err := catalog.ParseList("--against", f.against)
	if err != nil {
		return err
	}
	locks := []catalog.Lock{l}
	for _, o := range others {
		if err := o.CheckCore(); err != nil {
			return fmt.Errorf("--against: %w", err)
		}
		if o.String() != l.String() {
			locks = append(locks, o)
		}
	}
	sizes := []int{low, high}
	for ten := 1; ten <= high; ten *= 10 {
		for _, n := range []int{ten, 2 * ten, 5 * ten} {
			if n > low && n < high {
				sizes = append(sizes, n)
			}
		}
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	var points []sim.Point
	var measuring errgroup.Group
	measuring.SetLimit(runtime.GOMAXPROCS(0))
	zones := []int{3, 10, 30}
	points = make([]sim.Point, len(locks)*len(zones)*len(sizes))
	for i := range points {
		lock, zones, peers := locks[i/(len(zones)*len(sizes))], zones[i/len(sizes)%len(zones)], sizes[i%len(sizes)]
		measuring.Go(func() error {
			if ctx.Err() != nil {
				return &exitError{code: exitInterrupted, err: ctx.Err()}
			}
			points[i] = sim.Measure(lock.Core.Simulator, peers, zones, seed.Seed(f.seed))
			points[i].Lock = lock.String()
			return nil
		})
	}
	if err := measuring.Wait(); err != nil {
		return err
	}
	for _, z := range zones {
		for _, n := range sizes {
			points = append(points, sim.Service(n, z))
		}
	}
	if f.asJSON {
		return writeJSON(stdout, points)
	}
	const told = "The computed service is a lower bound, without queues, disks or jitter, and without contention."
	sheet := page.Sheet{
		Title: fmt.Sprintf("%s against the number of peers", l), Made: typed(),
		Lede: fmt.Sprintf("Simulated in virtual time, seed %d. %s", f.seed, told),
	}
	width, _ := progress.Width(stdout)
	w := new(strings.Builder)
	for _, z := range zones {
		figures := textTable{keys: 2, breaks: []int{6}, rows: [][]string{{
			"  lock", "peers", "messages", "contended", "acquire p50 ms", "p99", "contended p50", "p99", "handoff mean", "p99",
		}}}
		for _, p := range points {
			if p.Zones != z {
				continue
			}
			figures.row("  "+p.Lock, strconv.Itoa(p.Peers), fmt.Sprintf("%.1f", p.Messages),
				fmt.Sprintf("%.1f", p.MessagesContended), ms(p.Acquire.P50), ms(p.Acquire.P99), ms(p.Contended.P50),
				ms(p.Contended.P99), ms(p.Handoff.Mean), ms(p.Handoff.P99))
		}
		fmt.Fprintf(w, "%d zones\n", z)
		figures.write(w, width)
		fmt.Fprintln(w)
	}
	for _, figure := range sweepFigures() {
		sheet.Sections = append(sheet.Sections, page.Section{Title: figure.title, Drawing: figure.draw(points)})
	}
	name := "sweep-" + strings.NewReplacer(":", "-", "=", "-", ",", "-").Replace(l.String())
	dir := cmp.Or(f.out, filepath.Join(simDir, name))
	if err := page.WriteSheet(filepath.Join(dir, page.File), sheet); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	_, _ = io.WriteString(stdout, folded(stdout, w.String()+told+"\n"))
	fmt.Fprintf(stderr, "locklab: report: %s\n", filepath.Join(dir, page.File))
	return nil
}

// sweepFigure is a figure of a sweep.
type sweepFigure struct {
	title, unit string
	of          func(sim.Point) float64 // 0 if there is none: the computed service has no queue
}

func sweepFigures() []sweepFigure {
	in := func(d time.Duration) float64 { return float64(d) / 1e6 }
	return []sweepFigure{
		{"Messages per acquisition and release, free lock", "messages", func(p sim.Point) float64 { return p.Messages }},
		{"Messages, where up to ten peers want the lock", "messages", func(p sim.Point) float64 { return p.MessagesContended }},
		{"Time to acquire a free lock, median", "ms", func(p sim.Point) float64 { return in(p.Acquire.P50) }},
		{"Time to acquire, where up to ten peers want the lock, median", "ms", func(p sim.Point) float64 { return in(p.Contended.P50) }},
		{"From a release to the next holder, mean", "ms", func(p sim.Point) float64 { return in(p.Handoff.Mean) }},
	}
}

// draw has a panel for each number of zones, all with the same logarithmic axes.
func (f *sweepFigure) draw(points []sim.Point) template.HTML {
	most, low, high := 2, math.Inf(1), 0.0
	panels := map[int][]plots.Curve{}
	for _, p := range points {
		v := f.of(p)
		if v == 0 {
			continue
		}
		most, low, high = max(most, p.Peers), min(low, v), max(high, v)
		curves := panels[p.Zones]
		i := slices.IndexFunc(curves, func(c plots.Curve) bool { return c.Name == p.Lock })
		if i < 0 {
			i, curves = len(curves), append(curves, plots.Curve{Name: p.Lock})
		}
		curves[i].Points = append(curves[i].Points, plots.Peers{N: p.Peers, Value: v})
		panels[p.Zones] = curves
	}
	var out strings.Builder
	for _, zones := range slices.Sorted(maps.Keys(panels)) {
		label := fmt.Sprintf("%s, in %s, against the number of peers, to %d: %d zones.", f.title, f.unit, most, zones)
		fmt.Fprintf(&out, `<div><b>%d zones</b> <small>%s, on a logarithmic scale</small>%s</div>`, zones, f.unit,
			plots.Growth(lang.English(), label, panels[zones], most, low, high))
	}
	return template.HTML(`<div class="figures">` + out.String() + `</div>`) //nolint:gosec // drawn and escaped by plots
}

// runFairness saturates the lock and others: where all are as far from each other, where the highest
// rank is far from the rest, and where messages of different senders often overtake each other.
func (f *simFlags) runFairness(ctx context.Context, l catalog.Lock, plan sim.Plan, stdout io.Writer) error {
	const near = 500 * time.Microsecond
	delays := func(highest time.Duration) [][]time.Duration {
		all := make([][]time.Duration, f.peers)
		for a := range all {
			all[a] = slices.Repeat([]time.Duration{near}, f.peers)
			all[0][a], all[a][0] = highest, highest
		}
		return all
	}
	texts := []string{l.String()}
	readings := []string{"multiphase:fair=on", "multiphase:fair=off", "multiphase:rule=literal"}
	for _, other := range append(readings, catalog.PeerNames()...) {
		if named, err := catalog.ParsePeers(other); err == nil && !slices.Contains(texts, named.String()) {
			texts = append(texts, named.String())
		}
	}
	plan.Seeds = min(plan.Seeds, fairSeeds)
	plan.Config.Zones, plan.Config.Formed, plan.Config.Load.Think = f.peers, true, 0
	bound, ended := uint64(2*(f.peers-1)), 0
	width, _ := progress.Width(stdout)
	w := new(strings.Builder)
	fmt.Fprintf(w, "All %s always want the lock: hold %v, seeds %d to %d, in each clients ask for %v of virtual time.\n"+
		"Passed: grants to others while one peer waits once. The debt rule (fair=on) bounds the acquisitions among\n"+
		"the peers in that time to 2(N-1) = %d;\n"+
		"with a cohort each of them serves several clients of a peer, and each of these counts.\n",
		some(f.peers, "peer"), f.hold, f.seed, f.seed+uint64(plan.Seeds)-1, sentence.Lasting(f.duration), bound)
	for _, n := range []struct {
		what    string
		network sim.Network
	}{
		{"even: 0.5 ms between any two, jitter 20%", sim.Network{Delay: delays(near), Jitter: 0.2}},
		{"far: the highest rank is 10 ms from all others, jitter 20%", sim.Network{Delay: delays(10 * time.Millisecond), Jitter: 0.2}},
		{"wild: 0.5 ms between any two, jitter 1000%", sim.Network{Delay: delays(near), Jitter: 10}},
	} {
		fmt.Fprintf(w, "\n%s\n", n.what)
		fair := textTable{keys: 1, breaks: []int{6}, rows: [][]string{{
			"  lock", "grants", "overlaps", "Jain", "passed, most", "within 2(N-1)",
			"highest: grants", "wait p50", "p99", "lowest: grants", "wait p50", "p99",
		}}}
		for _, text := range texts {
			lock, err := catalog.ParsePeers(text)
			if err != nil {
				return err
			}
			plan.Config.Network = n.network
			o := sim.Campaign(ctx, lock.Core.Simulator, plan)
			if ctx.Err() != nil {
				return &exitError{code: exitInterrupted, err: ctx.Err()}
			}
			t, overlaps := &o.Totals, 0
			for _, g := range o.Groups {
				if g.Example.Kind == sim.Overlap {
					overlaps += g.Count
				}
			}
			within := map[bool]string{true: "yes", false: "NO"}[t.BypassMax() <= bound]
			if t.Truncated > 0 {
				within += ", as far as it went"
			}
			ended += t.Truncated
			cells := []string{
				"  " + text, fmt.Sprint(t.Grants), fmt.Sprint(overlaps), fmt.Sprintf("%.4f", t.Jain()),
				fmt.Sprint(t.BypassMax()), within,
			}
			for _, k := range []*sim.Rank{&t.Ranks[0], &t.Ranks[f.peers-1]} {
				wait := k.Wait.Spread()
				cells = append(cells, fmt.Sprint(k.Grants), ms(wait.P50), ms(wait.P99))
			}
			fair.row(cells...)
		}
		fair.write(w, width)
	}
	fmt.Fprintf(w, "\nwaits in ms. A simulation shows how likely a long wait is, not that there is none longer: locklab explore proves bounds.\n")
	_, _ = io.WriteString(stdout, folded(stdout, w.String()))
	return truncated(ended)
}
