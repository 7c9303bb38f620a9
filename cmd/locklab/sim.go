package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/seed"
	"locklab/internal/sentence"
	"locklab/locks/peerlock/peercore"
	"locklab/reports/lang"
	"locklab/reports/page"
	"locklab/reports/plots"
	"locklab/reports/table"
	"locklab/verify/sim"
)

const (
	simDir    = "reports/sim" // where files go, unless --out says otherwise
	fairSeeds = 100           // of each lock in each network, unless --seeds says otherwise
	sweepMost = 1000          // peers
)

// simFlags is what the user typed.
type simFlags struct {
	set                     *pflag.FlagSet
	config                  sim.Config
	seeds                   int
	seed                    uint64
	faults, against         []string
	trace, fairness, asJSON bool
	noShrink                bool
	sweep, out              string
}

func newSim() *cobra.Command {
	var f simFlags
	cmd := &cobra.Command{
		Use:   "sim LOCK",
		Short: "Simulate a peer-to-peer lock in virtual time, faults from a seed",
		Long: `sim runs the very core of a peer-to-peer lock in virtual time: peers in zones,
latencies between them, clients that want one resource, and faults that are
drawn from the seed. It looks for two clients that hold at once, tokens that do
not grow and peers that are never served. The same seed and the same build give
the same output.

The first violation is made as small as possible, shown as a trace and written
as a scenario that locklab run replays on real processes.

Faults: partition (messages arrive after the heal), crash (the process loses its
memory and starts again), pause, slow (a path takes longer), drift (clocks).

--sweep measures messages and latencies against the number of peers; --fairness
says whether a peer starves under saturation.

Exit codes: 0 nothing was violated; 2 something was; 4 the bounds ended runs
before a verdict; 1 bad input; 130 interrupted. --sweep and --fairness only
measure, and the code is 0.`,
		Example: `  locklab sim multiphase --seeds 10000 --faults partition,crash,pause
  locklab sim multiphase:rule=literal            unsafe with nothing broken
  locklab sim multiphase --faults partition --seed 2 --trace | less
  locklab sim lamport --peers 10 --zones 3 --give-up 50ms --json
  locklab sim multiphase --sweep peers=2..1000 --against lamport,ricart-agrawala
  locklab sim multiphase --fairness`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			lock, err := catalog.ParsePeers(args[0])
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), lock, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
		ValidArgsFunction: specs(catalog.PeerNames),
	}
	fl, c := cmd.Flags(), &f.config
	f.set = fl
	fl.IntVar(&c.Peers, "peers", 3, "peers, 1 to 1024; rank 0 is the highest")
	fl.IntVar(&c.Zones, "zones", 0, "zones that the peers are dealt over, up to 30: three of a region, then three of "+
		"the next (default: as many as peers, up to 3)")
	fl.Uint64Var(&f.seed, "seed", 1, "first seed")
	fl.IntVar(&f.seeds, "seeds", 1000, "how many seeds to run, one after the other")
	fl.StringSliceVar(&f.faults, "faults", nil, "kinds to draw: partition, crash, pause, slow, drift (default none)")
	fl.DurationVar(&c.Duration, "duration", 10*time.Second, "virtual time of a run; faults end before it does")
	fl.DurationVar(&c.Load.Think, "think", 20*time.Millisecond, "mean time from a release to the client's next request")
	fl.DurationVar(&c.Load.Hold, "hold", 5*time.Millisecond, "mean time that a client holds; with --faults, and if it is "+
		"not given, every seed draws one of 5ms, 1s, 3s")
	fl.DurationVar(&c.Load.GiveUp, "give-up", 0, "mean patience of a client that waits (default endless)")
	fl.IntVar(&c.Load.Clients, "clients", 1, "clients in each peer")
	fl.Float64Var(&c.Network.Jitter, "jitter", 0.2, "how much longer a message may take, as a share of the way's latency")
	fl.Uint64Var(&c.MaxEvents, "max-events", 200_000_000, "events that end a single run")
	fl.BoolVar(&f.trace, "trace", false, "run only --seed and print every event")
	fl.BoolVar(&f.noShrink, "no-shrink", false, "do not make the first violation smaller, write no scenario")
	fl.StringVar(&f.sweep, "sweep", "", "measure against the number of peers, such as peers=2..1000")
	fl.StringArrayVar(&f.against, "against", nil, "with --sweep: other locks to compare with, A,B or repeated")
	fl.BoolVar(&f.fairness, "fairness", false, "compare how even ranks are served under saturation")
	fl.StringVar(&f.out, "out", "", "directory for the scenario (or its file, a name ending in .yaml), or for the "+
		"sweep's page (default "+simDir+")")
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

func (f *simFlags) run(ctx context.Context, lock catalog.Lock, stdout, stderr io.Writer) error {
	plan, err := f.plan()
	switch {
	case err != nil:
		return err
	case f.sweep != "":
		return f.runSweep(ctx, lock, stdout, stderr)
	case f.fairness:
		return f.runFairness(ctx, lock, plan, stdout)
	case f.trace:
		return f.runTrace(lock, plan, stdout)
	}
	return f.runCampaign(ctx, lock, plan, stdout)
}

// plan checks the flags.
func (f *simFlags) plan() (sim.Plan, error) {
	plan := sim.Plan{Config: f.config, Seeds: f.seeds, Kinds: []sim.Kind{}}
	c := &plan.Config
	c.Seed = seed.Seed(f.seed)
	c.Zones = cmp.Or(c.Zones, min(c.Peers, 3))
	err := errors.Join(
		catalog.Within("--peers", c.Peers, 1, peercore.MaxPeers), catalog.Within("--zones", c.Zones, 1, sim.MaxZones),
		catalog.Within("--seeds", f.seeds, 1, math.MaxInt), catalog.Within("--clients", c.Load.Clients, 1, 10000),
		catalog.Within("--duration", c.Duration, time.Millisecond, 24*time.Hour),
		catalog.Within("--think", c.Load.Think, 0, 24*time.Hour), catalog.Within("--hold", c.Load.Hold, 0, 24*time.Hour),
		catalog.Within("--give-up", c.Load.GiveUp, 0, 24*time.Hour), catalog.Within("--jitter", c.Network.Jitter, 0, 100),
		catalog.Within("--max-events", c.MaxEvents, 1, math.MaxUint64),
	)
	switch {
	case err != nil:
		return plan, err
	case f.fairness:
		err = catalog.Within("--fairness: --peers", c.Peers, 2, sim.MaxZones)
	case len(f.against) > 0 && f.sweep == "":
		err = errors.New("--against: want it with --sweep")
	}
	c.Network.Jitter = max(c.Network.Jitter, 1e-9) // 0 would be the default
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
	return plan, errors.Join(err, f.checkMode())
}

// checkMode refuses flags that what is asked for does not heed.
func (f *simFlags) checkMode() (err error) {
	for mode, heeds := range map[string]string{
		"sweep":    "against seed out json",
		"fairness": "peers seed seeds duration hold clients max-events",
		"trace":    "peers zones seed seeds faults duration think hold give-up clients jitter max-events no-shrink out",
	} {
		f.set.Visit(func(flag *pflag.Flag) {
			if f.set.Changed(mode) && flag.Name != mode && !slices.Contains(strings.Fields(heeds), flag.Name) {
				err = fmt.Errorf("--%s: not with --%s, which heeds %s", flag.Name, mode, heeds)
			}
		})
	}
	return err
}

// runTrace prints all that happens under one seed.
func (f *simFlags) runTrace(l catalog.Lock, plan sim.Plan, stdout io.Writer) error {
	cfg, out := plan.Case(plan.Config.Seed), bufio.NewWriter(stdout)
	cfg.Trace = out
	fmt.Fprintf(out, "seed %d, hold %v, times in milliseconds of virtual time\n", f.seed, cfg.Load.Hold)
	for _, fault := range cfg.Faults {
		fmt.Fprintf(out, "fault: %v\n", fault)
	}
	r := l.Core.Simulator(cfg)
	if err := out.Flush(); err != nil { // such as a pipe that is read no more
		return fmt.Errorf("--trace: %w", err)
	}
	if r.Bad() != nil {
		return exitWith(exitViolated)
	}
	return truncated(r.Truncated)
}

// truncated is the error of runs that were ended.
func truncated(runs int) error {
	if runs == 0 {
		return nil
	}
	return &exitError{exitInconclusive, fmt.Errorf("--max-events ended %s before a verdict", sentence.Plural(runs, "run"))}
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
}

// runCampaign runs all seeds and looks into the first violation.
func (f *simFlags) runCampaign(ctx context.Context, l catalog.Lock, plan sim.Plan, stdout io.Writer) error {
	o := sim.Campaign(ctx, l.Core.Simulator, plan)
	r := simReport{
		"locklab/sim/v2", l.String(), plan.Config.Peers, plan.Config.Zones, plan.Kinds, f.seed, o.Bad(), o.Totals,
		append([]sim.Group{}, o.Groups...), nil,
	}
	if o.Bad() && !f.noShrink {
		var err error
		if r.Minimal, err = shrink(l, plan, o.Groups, f.out); err != nil {
			return err
		}
	}
	write := r.text
	if f.asJSON {
		write = func(w io.Writer, _ time.Duration) error { return writeJSON(w, r) }
	}
	if err := write(stdout, plan.Config.Duration); err != nil {
		return err
	}
	switch {
	case o.Bad():
		return exitWith(exitViolated)
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted after %d of %d seeds", o.Totals.Runs, plan.Seeds)}
	}
	return truncated(o.Totals.Truncated)
}

// text tells it to people.
func (r *simReport) text(out io.Writer, duration time.Duration) error {
	w, t := new(strings.Builder), &r.Totals
	verdict := "nothing was violated in " + sentence.Plural(t.Runs, "run")
	if r.Violated {
		verdict = "VIOLATED"
	} else if t.Truncated > 0 {
		verdict += fmt.Sprintf(", of which --max-events ended %d before a verdict", t.Truncated)
	}
	kinds := cmp.Or(strings.Trim(fmt.Sprint(r.Faults), "[]"), "none")
	tellFacts(w, []page.Fact{
		fact("lock", r.Lock),
		fact("simulated", fmt.Sprintf("%s in %s, faults %s, seeds %d to %d, in each clients ask for %v of virtual time",
			sentence.Plural(r.Peers, "peer"), sentence.Plural(r.Zones, "zone"), kinds, r.Seed, r.Seed+uint64(t.Runs)-1,
			sentence.Lasting(duration))),
		fact("seen", fmt.Sprintf("%v of virtual time, %d grants, %d messages, %.2f messages a grant",
			sentence.Lasting(t.Virtual.Round(time.Second)), t.Grants, t.Messages, t.PerGrant())),
		fact("verdict", append([]string{verdict}, harmless(r.Findings)...)...),
	})
	found := [][]string{{"\nfinding", "seeds", "times", "first seed", "hold", "there"}}
	for _, g := range r.Findings {
		row := fmt.Sprintf("%s|%d|%d|%d|%v|%v", g.Name, g.Seeds, g.Count, uint64(g.First), g.Hold, g.Example)
		found = append(found, strings.Split(row, "|"))
	}
	if len(found) > 1 {
		fmt.Fprint(w, aligned(found))
	}
	ranks := table.Table{Columns: table.Heads(
		"=rank", "grants>", "gave up>", "wait p50>", "p99>", "max>", "passed, mean>", "most>",
	)}
	for i := range t.Ranks {
		const shown = 4 // of the highest and of the lowest
		if i >= shown && i < len(t.Ranks)-shown {
			continue
		}
		k := &t.Ranks[i]
		wait := k.Wait.Spread()
		ranks.Rows = append(ranks.Rows, table.Row(fmt.Sprintf("p%d", i), fmt.Sprint(k.Grants), fmt.Sprint(k.GiveUps),
			ms(wait.P50), ms(wait.P99), ms(wait.Max), fmt.Sprintf("%.2f", k.BypassMean()), fmt.Sprint(k.BypassMax)))
	}
	fmt.Fprintf(w, "\n%swaits in ms; passed: grants to others while a peer waits; Jain index of the grants %.4f\n",
		columns(ranks, out), t.Jain())
	if m := r.Minimal; m != nil {
		fmt.Fprintf(w, "\nThe smallest case: %s\n  %v\n\n%s\n\n", m.text, m.Finding, strings.Join(m.Trace, "\n"))
		if m.NoReplay != "" {
			fmt.Fprintf(w, "no scenario for real processes: %s\n", m.NoReplay)
		} else {
			fmt.Fprintf(w, "scenario: %s\nreplay:   %s\n", m.Scenario, m.Replay)
		}
	}
	_, err := io.WriteString(out, folded(out, w.String()))
	return err
}

// harmless says why findings violate nothing.
func harmless(groups []sim.Group) (why []string) {
	for _, g := range groups {
		text := map[sim.FindingKind]string{
			sim.Fenced: "a resource that checks tokens refuses the earlier holder of each fenced overlap as soon as it has " +
				"seen the later one",
			sim.Forgot: "tokens were forgotten only where a majority had lost its memory, and more is not promised",
		}[g.Example.Kind]
		if text != "" && !slices.Contains(why, text) {
			why = append(why, text)
		}
	}
	return why
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }

// sweepZones are a region, four around the western Pacific, and ten all over the world.
func sweepZones() []int { return []int{3, 10, 30} }

// sweepFigure is a column of a sweep's tables, and a drawing of its page.
type sweepFigure struct {
	column, title string
	of            func(sim.Point) float64 // 0 if there is none: the computed service has no queue
}

func sweepFigures() []sweepFigure {
	in := func(d time.Duration) float64 { return float64(d) / 1e6 }
	return []sweepFigure{
		{"messages", "Messages per acquisition and release, free lock", func(p sim.Point) float64 { return p.Messages }},
		{"contended", "Messages, where up to ten peers want it", func(p sim.Point) float64 { return p.MessagesContended }},
		{"acquire p50 ms", "Time to acquire a free lock, median", func(p sim.Point) float64 { return in(p.Acquire.P50) }},
		{"contended p50 ms", "The same, where up to ten want it", func(p sim.Point) float64 { return in(p.Contended.P50) }},
		{"handoff mean ms", "From a release to the next holder", func(p sim.Point) float64 { return in(p.Handoff.Mean) }},
	}
}

// runSweep measures the lock, and those that it is compared with, for 1, 2, 5 of every power of ten
// peers and both ends.
func (f *simFlags) runSweep(ctx context.Context, l catalog.Lock, stdout, stderr io.Writer) error {
	var low, high int
	_, err := fmt.Sscanf(f.sweep+" ", "peers=%d..%d ", &low, &high)
	if err != nil || low < 2 || high < low || high > sweepMost {
		return fmt.Errorf("--sweep: %q: want peers=LOW..HIGH, such as peers=2..1000, within 2 and %d", f.sweep, sweepMost)
	}
	locks, err := distinct("--against", l, f.against)
	if err != nil {
		return err
	}
	sizes := []int{low, high}
	for n := 1; n < high; n *= 10 {
		sizes = append(sizes, n, 2*n, 5*n)
	}
	slices.Sort(sizes)
	sizes = slices.DeleteFunc(slices.Compact(sizes), func(n int) bool { return n < low || n > high })
	points := make([]sim.Point, len(locks)*len(sweepZones())*len(sizes))
	var measuring errgroup.Group
	measuring.SetLimit(runtime.GOMAXPROCS(0))
	for i := range points {
		n := i / len(sizes)
		lock, zones := locks[n/len(sweepZones())], sweepZones()[n%len(sweepZones())]
		measuring.Go(func() error {
			if ctx.Err() == nil {
				points[i] = sim.Measure(lock.Core.Simulator, sizes[i%len(sizes)], zones, seed.Seed(f.seed))
				points[i].Lock = lock.String()
			}
			return nil
		})
	}
	_ = measuring.Wait() // none fails
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case f.asJSON:
		return writeJSON(stdout, points)
	}
	sheet := page.Sheet{
		Title: fmt.Sprintf("%s against the number of peers", l), Made: typed(),
		Lede: fmt.Sprintf("Simulated in virtual time, seed %d.", f.seed),
	}
	heads := []string{"=lock", "=peers>"}
	for _, figure := range sweepFigures() {
		heads = append(heads, figure.column+">")
		sheet.Sections = append(sheet.Sections, page.Section{Title: figure.title, Drawing: figure.draw(points)})
	}
	for _, z := range sweepZones() {
		t := table.Table{Title: fmt.Sprintf("%d zones", z), Columns: table.Heads(heads...)}
		for _, p := range points {
			cells := []string{p.Lock, fmt.Sprint(p.Peers)}
			for _, figure := range sweepFigures() {
				cells = append(cells, fmt.Sprintf("%.2f", figure.of(p)))
			}
			if p.Zones == z {
				t.Rows = append(t.Rows, table.Row(cells...))
			}
		}
		fmt.Fprintln(stdout, columns(t, stdout))
	}
	name := "sweep-" + strings.NewReplacer(":", "-", "=", "-", ",", "-").Replace(l.String())
	file := filepath.Join(cmp.Or(f.out, filepath.Join(simDir, name)), page.File)
	if err := page.WriteSheet(file, sheet); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	fmt.Fprintf(stderr, "locklab: report: %s\n", file)
	return nil
}

// distinct is a lock and others that have a core, each once.
func distinct(flag string, l catalog.Lock, others []string) ([]catalog.Lock, error) {
	all := []catalog.Lock{l}
	more, err := catalog.ParseList(flag, others)
	for _, o := range more {
		if err := o.CheckCore(); err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		if !slices.ContainsFunc(all, func(l catalog.Lock) bool { return l.String() == o.String() }) {
			all = append(all, o)
		}
	}
	return all, err
}

// draw has a panel for each number of zones, all with the same logarithmic axes.
func (f sweepFigure) draw(points []sim.Point) template.HTML {
	unit := map[bool]string{true: "ms", false: "messages"}[strings.HasSuffix(f.column, "ms")]
	most, low, high := 2, math.Inf(1), 0.0
	panels := map[int][]plots.Curve{}
	for _, p := range points {
		v := f.of(p)
		most, low, high = max(most, p.Peers), min(low, v), max(high, v)
		curves := panels[p.Zones]
		if n := len(curves); n == 0 || curves[n-1].Name != p.Lock { // the points of a lock stand together
			curves = append(curves, plots.Curve{Name: p.Lock})
		}
		last := &curves[len(curves)-1]
		last.Points = append(last.Points, plots.Peers{N: p.Peers, Value: v})
		panels[p.Zones] = curves
	}
	var out strings.Builder
	for _, zones := range slices.Sorted(maps.Keys(panels)) {
		label := fmt.Sprintf("%s, in %s, against the number of peers, to %d: %d zones.", f.title, unit, most, zones)
		fmt.Fprintf(&out, `<div><b>%d zones</b> <small>%s, on a logarithmic scale</small>%s</div>`, zones, unit,
			plots.Growth(lang.English(), label, panels[zones], most, low, high))
	}
	return template.HTML(`<div class="figures">` + out.String() + `</div>`) //nolint:gosec // drawn and escaped by plots
}

// runFairness saturates the lock and others: where all are as far from each other, where the highest
// rank is far from the rest, and where messages of different senders often overtake each other.
func (f *simFlags) runFairness(ctx context.Context, l catalog.Lock, plan sim.Plan, stdout io.Writer) error {
	const near = 500 * time.Microsecond
	cfg := &plan.Config
	delays := func(highest time.Duration) [][]time.Duration {
		all := make([][]time.Duration, cfg.Peers)
		for a := range all {
			all[a] = slices.Repeat([]time.Duration{near}, cfg.Peers)
			all[0][a], all[a][0] = highest, highest
		}
		return all
	}
	readings := []string{"multiphase:fair=on", "multiphase:fair=off", "multiphase:rule=literal"}
	locks, err := distinct("--fairness", l, append(readings, catalog.PeerNames()...))
	if err != nil {
		return err
	}
	if !f.set.Changed("seeds") {
		plan.Seeds = fairSeeds
	}
	cfg.Zones, cfg.Formed, cfg.Load.Think = cfg.Peers, true, 0
	bound, ended := uint64(2*(cfg.Peers-1)), 0 //nolint:gosec // there are peers
	fmt.Fprint(stdout, folded(stdout, fmt.Sprintf(
		"All %d peers always want the lock: hold %v, seeds %d to %d, in each clients ask for %v of virtual time.\n"+
			"Passed: grants to others while one peer waits once. The debt rule (fair=on) bounds the acquisitions among the "+
			"peers in that time to 2(N-1) = %d; with a cohort each of them serves several clients of a peer, and each counts.\n",
		cfg.Peers, cfg.Load.Hold, f.seed, f.seed+uint64(plan.Seeds)-1, sentence.Lasting(cfg.Duration), bound)))
	for _, n := range []struct {
		name    string
		network sim.Network
	}{
		{"even: 0.5 ms between any two, jitter 20%", sim.Network{Delay: delays(near), Jitter: 0.2}},
		{"far: the highest rank is 10 ms from all others, jitter 20%", sim.Network{Delay: delays(20 * near), Jitter: 0.2}},
		{"wild: 0.5 ms between any two, jitter 1000%", sim.Network{Delay: delays(near), Jitter: 10}},
	} {
		fair := table.Table{Columns: table.Heads("=lock", "grants>", "overlaps>", "Jain>", "passed, most>", "within 2(N-1)>",
			"highest: grants>", "wait p50>", "p99>", "lowest: grants>", "wait p50>", "p99>")}
		for _, lock := range locks {
			cfg.Network = n.network
			o := sim.Campaign(ctx, lock.Core.Simulator, plan)
			if ctx.Err() != nil {
				return ctx.Err()
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
			cells := []string{lock.String(), fmt.Sprint(t.Grants), fmt.Sprint(overlaps), fmt.Sprintf("%.4f", t.Jain())}
			cells = append(cells, fmt.Sprint(t.BypassMax()), within)
			for _, k := range []*sim.Rank{&t.Ranks[0], &t.Ranks[cfg.Peers-1]} {
				wait := k.Wait.Spread()
				cells = append(cells, fmt.Sprint(k.Grants), ms(wait.P50), ms(wait.P99))
			}
			fair.Rows = append(fair.Rows, table.Row(cells...))
		}
		fmt.Fprintf(stdout, "\n%s\n%s", n.name, columns(fair, stdout))
	}
	fmt.Fprintln(stdout, folded(stdout, "\nwaits in ms. A simulation shows how likely a long wait is, not that none is "+
		"longer: locklab explore proves bounds."))
	return truncated(ended)
}
