package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/seed"
	"locklab/internal/sentence"
	"locklab/locks/peerlock/peercore"
	"locklab/verify/sim"
)

type simFlags struct {
	sim.Config
	seeds          int
	seed           uint64
	faults         []string
	holdSet, trace bool
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

--trace with the first seed of a finding shows event by event how it came about.

Faults: partition (messages arrive after the heal), crash (the process loses its
memory and starts again), pause, slow (a path takes longer), drift (clocks).

Exit codes: 0 nothing was violated; 2 something was; 1 bad input; 130
interrupted.`,
		Example: `  locklab sim multiphase --seeds 10000 --faults partition,crash,pause
  locklab sim multiphase:rule=literal            unsafe with nothing broken
  locklab sim multiphase --faults partition --seed 2 --trace | less
  locklab sim lamport --peers 10 --zones 3 --give-up 50ms`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			lock, err := catalog.ParsePeers(args[0])
			if err != nil {
				return err
			}
			f.holdSet = cmd.Flags().Changed("hold")
			campaign, err := f.campaign()
			switch {
			case err != nil:
				return err
			case f.trace:
				return f.runTrace(lock, campaign, cmd.OutOrStdout())
			}
			return f.runCampaign(cmd.Context(), lock, campaign, cmd.OutOrStdout())
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&f.Peers, "peers", 3, "peers, 1 to 64; rank 0 is the highest")
	fl.IntVar(&f.Zones, "zones", 0, "zones that the peers are dealt over (default: as many as peers, up to 3)")
	fl.Uint64Var(&f.seed, "seed", 1, "first seed")
	fl.IntVar(&f.seeds, "seeds", 1000, "how many seeds to run, one after the other")
	fl.StringSliceVar(&f.faults, "faults", nil, "kinds to draw: partition, crash, pause, slow, drift (default none)")
	fl.DurationVar(&f.Duration, "duration", 10*time.Second, "virtual time of a run; faults end before it does")
	fl.DurationVar(&f.Load.Think, "think", 20*time.Millisecond, "mean time from a release to the client's next request")
	fl.DurationVar(&f.Load.Hold, "hold", 5*time.Millisecond, "mean time that a client holds; with --faults, and if it is "+
		"not given, every seed draws one of 5ms, 1s, 3s")
	fl.DurationVar(&f.Load.GiveUp, "give-up", 0, "mean patience of a client that waits (default endless)")
	fl.IntVar(&f.Load.Clients, "clients", 1, "clients in each peer")
	fl.Float64Var(&f.Jitter, "jitter", 0.2, "how much longer a message may take, as a share of the way's latency")
	fl.BoolVar(&f.trace, "trace", false, "run only --seed and print every event")
	return cmd
}

func kindsText(kinds []sim.Kind) string { return strings.Trim(fmt.Sprint(kinds), "[]") }

// campaign checks the flags.
func (f *simFlags) campaign() (sim.Campaign, error) {
	campaign := sim.Campaign{Config: f.Config, Seeds: f.seeds, Kinds: []sim.Kind{}}
	c := &campaign.Config
	c.Seed = seed.Seed(f.seed)
	c.Zones = cmp.Or(c.Zones, min(c.Peers, 3))
	const day = 24 * time.Hour
	err := errors.Join(
		catalog.Within("--peers", c.Peers, 1, peercore.MaxPeers), catalog.Within("--zones", c.Zones, 1, c.Peers),
		catalog.Within("--seeds", f.seeds, 1, math.MaxInt), catalog.Within("--clients", c.Load.Clients, 1, 10000),
		catalog.Within("--duration", c.Duration, time.Millisecond, day), catalog.Within("--think", c.Load.Think, 0, day),
		catalog.Within("--hold", c.Load.Hold, 0, day), catalog.Within("--give-up", c.Load.GiveUp, 0, day),
		catalog.Within("--jitter", c.Jitter, 0, 100),
	)
	c.Jitter = max(c.Jitter, 1e-9) // 0 would be the default
	for _, word := range f.faults {
		kind := sim.Kind(strings.TrimSpace(word))
		if !slices.Contains(sim.Kinds(), kind) {
			return campaign, fmt.Errorf("--faults: unknown kind %q: want some of %s", word, kindsText(sim.Kinds()))
		}
		campaign.Kinds = append(campaign.Kinds, kind)
	}
	if len(campaign.Kinds) > 0 && !f.holdSet {
		campaign.Holds = sim.Holds()
	}
	return campaign, err
}

// runTrace prints all that happens under one seed.
func (f *simFlags) runTrace(l catalog.Lock, campaign sim.Campaign, stdout io.Writer) error {
	cfg, out := campaign.Case(campaign.Config.Seed), bufio.NewWriter(stdout)
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
	return nil
}

// runCampaign runs all seeds.
func (f *simFlags) runCampaign(ctx context.Context, l catalog.Lock, campaign sim.Campaign, stdout io.Writer) error {
	o := campaign.Run(ctx, l.Core.Simulator)
	w, t, c := new(strings.Builder), &o.Totals, &campaign.Config
	verdict := []string{"nothing was violated in " + sentence.Plural(t.Runs, "run")}
	if o.Bad() {
		verdict[0] = "VIOLATED"
	}
	found := [][]string{{"\nfinding", "seeds", "times", "first seed", "hold", "there"}}
	for _, g := range o.Groups {
		found = append(found, []string{
			g.Name, fmt.Sprint(g.Seeds), fmt.Sprint(g.Count), fmt.Sprint(uint64(g.First)), g.Hold.String(), g.Example.String(),
		})
		if g.Example.Kind == sim.Fenced && len(verdict) == 1 {
			verdict = append(verdict,
				"a resource that checks tokens refuses the earlier holder of each fenced overlap once it has seen the later one")
		}
	}
	wait := func(percent float64) time.Duration { return time.Duration(t.Wait.ValueAtQuantile(percent)) }
	tellFact(w, "lock", l.String())
	tellFact(w, "simulated", fmt.Sprintf("%s in %s, faults %s, seeds %d to %d, in each clients ask for %v of virtual time",
		sentence.Plural(c.Peers, "peer"), sentence.Plural(c.Zones, "zone"), cmp.Or(kindsText(campaign.Kinds), "none"),
		f.seed, f.seed+uint64(t.Runs)-1, sentence.Lasting(c.Duration)))
	tellFact(w, "seen", fmt.Sprintf("%v of virtual time, %d grants, %d messages, %.2f messages a grant",
		sentence.Lasting(t.Virtual.Round(time.Second)), t.Grants, t.Messages, float64(t.Messages)/max(float64(t.Grants), 1)),
		fmt.Sprintf("waits of %v (p50), %v (p99), %v at most", wait(50), wait(99), wait(100)))
	tellFact(w, "verdict", verdict...)
	if len(found) > 1 {
		fmt.Fprint(w, aligned(found))
	}
	if _, err := io.WriteString(stdout, folded(stdout, w.String())); err != nil {
		return err
	}
	switch {
	case o.Bad():
		return exitWith(exitViolated)
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted after %d of %d seeds", t.Runs, campaign.Seeds)}
	}
	return nil
}

// tellFact writes a fact with its name before it and its lines below each other.
func tellFact(w io.Writer, name string, lines ...string) {
	fmt.Fprintf(w, "%-10s %s\n", name, strings.Join(lines, "\n"+strings.Repeat(" ", 11)))
}
