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
