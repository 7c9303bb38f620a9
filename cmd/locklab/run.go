package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"locklab/chaos/external"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/failon"
	"locklab/cmd/locklab/internal/lab"
	"locklab/cmd/locklab/internal/progress"
	"locklab/locks/clock"
	"locklab/reports"
	"locklab/reports/result"
)

// runFlags is what the user typed, before it is checked.
type runFlags struct {
	quick              bool
	locks, scenarios   []string
	workload, topology string
	duration, warmup   time.Duration
	rate, seed, repeat string
	out, ui, tokenFile string
	agents             string
	wait               time.Duration
	failOn, external   []string
	clients, resources int
	groups, seats      int
	hold               time.Duration
	durationSet        bool
	holdSet            bool
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Compare locks while something is broken, and write a report",
		Long: `run starts the topology's nodes as real processes, lets clients work with each
lock while each scenario breaks something, judges what happened at the oracle, and
writes a report.

Without flags it compares none, local, multiphase, redlock and raft under
baseline, zone-latency, zone-partition and zone-failure.

Exit codes: 0 all as expected; 1 cannot run; 2 a verdict that was not expected, or
a --fail-on threshold; 3 a control did not fire; 4 inconclusive; 130 interrupted.`,
		Example: `  locklab run                                                the whole comparison
  locklab run --quick                                        in under a minute
  locklab run --locks redlock:order=sequential,ttl=1s --locks raft --scenarios zone-failure
  locklab run --workload mutex --locks multiphase,raft --scenarios baseline
  locklab run --topology seoul-3az --duration 20s --rate 500 --repeat 3 --seed 7
  locklab run --scenarios cloud.yaml --duration 4m --external fis=/opt/lab/fis-start,/opt/lab/fis-stop
  locklab run --locks redlock --fail-on 'duplicates>0' --fail-on 'latency_ms.p99>250'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.durationSet = cmd.Flags().Changed("duration")
			f.holdSet = cmd.Flags().Changed("hold")
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.quick, "quick", false, "a short look: every run lasts a quarter as long")
	fl.StringArrayVar(&f.locks, "locks", nil, "locks to compare, A,B or repeated; options as lock:key=value,key=value (see locklab list locks)")
	fl.StringSliceVar(&f.scenarios, "scenarios", nil, "scenarios, by name or as YAML files (see locklab list scenarios)")
	fl.StringVar(&f.workload, "workload", "matchmaking", "what the clients do: matchmaking or mutex")
	fl.StringVar(&f.topology, "topology", "seoul-2az", "topology, by name or as a YAML file")
	fl.DurationVar(&f.duration, "duration", lab.DefaultDuration, "measured time of one run, after the warm-up")
	fl.DurationVar(&f.warmup, "warmup", lab.DefaultWarmup, "time before it that is not measured")
	fl.StringVar(&f.rate, "rate", "", "operations offered per second (default 300 matches; the mutex workload runs closed loop without it)")
	fl.StringVar(&f.repeat, "repeat", "1", "how often each combination is run")
	fl.StringVar(&f.seed, "seed", "", "seed of every random choice (default: drawn, and printed)")
	fl.StringVar(&f.out, "out", "", "directory for the report (default reports/runs/TIME)")
	fl.StringVar(&f.ui, "ui", "off", "address of the live page; only off for now")
	fl.StringArrayVar(&f.failOn, "fail-on", nil, "exit 2 if a figure of any row crosses a threshold, such as 'duplicates>0'")
	fl.StringVar(&f.tokenFile, "token-file", "", "file with the bearer token of running agents (default: the environment's LOCKLAB_TOKEN)")
	fl.StringVar(&f.agents, "agents", "", "URL of a running agent for every host whose topology names none, such as http://{host}:7500")
	fl.DurationVar(&f.wait, "wait", 0, "how long to wait for running agents that do not answer yet")
	fl.StringArrayVar(&f.external, "external", nil, "NAME=START,STOP: programs that begin and end the external faults of that name, absolute paths; only what stands here is ever run")
	fl.IntVar(&f.groups, "groups", lab.DefaultGroups, "matchmaking: groups that the players belong to")
	fl.IntVar(&f.seats, "seats", lab.DefaultSeats, "matchmaking: seats of a room")
	fl.IntVar(&f.clients, "clients", 4, "mutex workload: clients in each master")
	fl.IntVar(&f.resources, "resources", 1, "mutex workload: resources that they contend for")
	fl.DurationVar(&f.hold, "hold", time.Millisecond, "mutex workload: how long each client holds; scenarios that break a holder set it where you do not")
	_ = cmd.RegisterFlagCompletionFunc("locks", complete(func() []string { return catalog.Names() })) // fails only for an unknown flag
	_ = cmd.RegisterFlagCompletionFunc("scenarios", complete(lab.ScenarioNames))
	_ = cmd.RegisterFlagCompletionFunc("topology", complete(lab.TopologyNames))
	_ = cmd.RegisterFlagCompletionFunc("workload", complete(lab.WorkloadNames))
	return cmd
}

// complete offers names to the shell.
func complete(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return names(), cobra.ShellCompDirectiveNoFileComp
	}
}

func (f *runFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	config, thresholds, err := f.config(ctx)
	if err != nil {
		return err
	}
	dir, created, err := f.makeOut()
	if err != nil {
		return err
	}
	config.Dir = dir
	fmt.Fprintf(stderr, "locklab: %d locks, %d scenarios, %d runs, about %v; seed %d; report in %s\n",
		len(config.Locks), len(config.Scenarios), config.Runs(), config.About().Round(time.Second), config.Seed, dir)

	display := progress.New(stderr, config.Runs())
	file, runErr := lab.Run(ctx, config, display)
	display.Close()
	if runErr != nil && len(file.Results) == 0 {
		return errors.Join(explainNoResult(ctx, runErr, dir), discard(dir, created))
	}
	for _, t := range thresholds {
		file.Run.FailOn = append(file.Run.FailOn, t.String())
	}
	applyThresholds(file.Results, thresholds)
	if runErr != nil { // it would be lost behind the exit code of the verdicts
		fmt.Fprintf(stderr, "locklab: the comparison could not go on: %v\n", runErr)
		return errors.Join(&exitError{code: exitCannotRun}, publish(ctx, file, dir, stdout))
	}
	return publish(ctx, file, dir, stdout)
}

// explainNoResult ends a comparison that came to nothing.
func explainNoResult(ctx context.Context, err error, dir string) error {
	if ctx.Err() != nil {
		return &exitError{code: exitInterrupted, err: fmt.Errorf("interrupted before the first run ended; nothing to report (logs are in %s)", dir)}
	}
	return &exitError{code: exitCannotRun, err: err}
}

// publish writes the report, prints the table and turns verdicts into an exit code.
func publish(ctx context.Context, file result.File, dir string, stdout io.Writer) error {
	ctx = context.WithoutCancel(ctx) // an interrupted run still gets its report
	if err := result.Write(filepath.Join(dir, result.FileName), file); err != nil {
		return err
	}
	if err := reports.Generate(ctx, []string{dir}, dir); err != nil {
		return err
	}
	width := 0 // what the table takes for a file
	var colour []reports.TableOption
	if f, ok := stdout.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			width = w
			if os.Getenv("NO_COLOR") == "" {
				colour = append(colour, reports.WithColour())
			}
		}
	}
	fmt.Fprintln(stdout)
	if err := reports.Table(stdout, file, width, colour...); err != nil {
		return err
	}
	fmt.Fprintln(stdout)
	for _, line := range reports.Headline(file) {
		fmt.Fprintln(stdout, line)
	}
	fmt.Fprintf(stdout, "\nreport: %s\n", filepath.Join(dir, "index.html"))
	if code := exitCode(file); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// exitCode is the worst of all rows: a violation before a silent control before an
// inconclusive run. An interruption says that it is one, unless a violation is sure.
func exitCode(file result.File) int {
	count := map[string]int{}
	for _, row := range file.Results {
		count[row.Verdict.Status]++
	}
	switch {
	case file.Run.Interrupted:
		return exitInterrupted
	case count[result.StatusViolated] > 0:
		return exitViolated
	case count[result.StatusControlSilent] > 0:
		return exitControlSilent
	case count[result.StatusInconclusive] > 0:
		return exitInconclusive
	}
	return exitOK
}

// applyThresholds makes every row that crosses a threshold violated.
func applyThresholds(rows []result.Row, thresholds []failon.Threshold) {
	for i := range rows {
		for _, t := range thresholds {
			if t.Crossed(rows[i]) {
				rows[i].Verdict.FailedOns = append(rows[i].Verdict.FailedOns, t.String())
			}
		}
		if v := &rows[i].Verdict; len(v.FailedOns) > 0 {
			v.Why = fmt.Sprintf("Crossed --fail-on %s. Without that it would be %s: %s", strings.Join(v.FailedOns, ", "), v.Status, v.Why)
			v.Status = result.StatusViolated
		}
	}
}

// config checks every flag before anything is started.
func (f *runFlags) config(ctx context.Context) (lab.Config, []failon.Threshold, error) {
	c := lab.Config{
		Duration: f.duration, Warmup: f.warmup, Workload: f.workload,
		Groups: f.groups, Seats: f.seats,
		Clients: f.clients, Resources: f.resources, Hold: f.hold, HoldSet: f.holdSet, Command: strings.Join(append([]string{"locklab"}, os.Args[1:]...), " "),
	}
	var thresholds []failon.Threshold
	steps := []func() error{
		func() error { return f.checkTimes(&c) },
		func() (err error) { c.Rate, err = f.parseRate(); return err },
		func() (err error) { c.Repeat, err = parseCount("--repeat", f.repeat, 1, 1000); return err },
		func() (err error) { c.Seed, err = parseSeed(f.seed); return err },
		func() error { return f.checkUI() },
		func() error {
			for _, text := range f.failOn {
				t, err := failon.Parse(text)
				if err != nil {
					return err
				}
				thresholds = append(thresholds, t)
			}
			return nil
		},
		func() (err error) { c.Locks, err = catalog.ParseList(f.locks); return err },
		func() (err error) {
			if c.External, err = external.Parse(f.external); err != nil {
				return fmt.Errorf("--external: %w", err)
			}
			return nil
		},
		func() error { return c.Load(f.topology, f.scenarios) }, //nolint:contextcheck // it waits for nobody
		func() error { return f.placeAgents(&c) },
		func() error { return c.CheckFiles() },
		func() (err error) { c.Token, err = awaitToken(ctx, f.tokenFile, f.wait); return err },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return lab.Config{}, nil, err
		}
	}
	return c, thresholds, nil
}

func (f *runFlags) checkTimes(c *lab.Config) error {
	if f.duration < time.Second || f.duration > time.Hour {
		return fmt.Errorf("--duration %v: want 1s to 1h", f.duration)
	}
	if f.warmup < 0 || f.warmup > time.Minute {
		return fmt.Errorf("--warmup %v: want 0s to 1m", f.warmup)
	}
	if f.groups < 1 || f.groups > 100_000 || f.seats < 1 || f.seats > 10_000 {
		return errors.New("--groups wants 1 to 100000, --seats 1 to 10000")
	}
	if f.hold < 0 || f.clients < 1 || f.clients > 10_000 || f.resources < 1 || f.resources > 1_000_000 {
		return errors.New("--clients wants 1 to 10000, --resources 1 to 1000000, --hold 0s or more")
	}
	if f.quick && !f.durationSet {
		c.Duration, c.Warmup = lab.QuickDuration, lab.QuickWarmup
	}
	return nil
}

// placeAgents says where the hosts' agents are.
func (f *runFlags) placeAgents(c *lab.Config) (err error) {
	if f.wait < 0 || f.wait > time.Hour {
		return fmt.Errorf("--wait %v: want 0s to 1h", f.wait)
	}
	c.Wait = f.wait
	if f.agents == "" {
		return nil
	}
	if c.Topology, err = c.Topology.WithAgents(f.agents); err != nil {
		return fmt.Errorf("--agents: %w", err)
	}
	return nil
}

func (f *runFlags) parseRate() (float64, error) {
	if f.rate == "" {
		return 0, nil
	}
	rate, err := strconv.ParseFloat(f.rate, 64)
	if err != nil || !(rate > 0) || rate > 1e6 {
		return 0, fmt.Errorf("--rate %q: want operations per second, a number above 0 and at most 1000000", f.rate)
	}
	return rate, nil
}

func parseCount(flag, text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s %q: want a whole number from %d to %d", flag, text, low, high)
	}
	return n, nil
}

func parseSeed(text string) (uint64, error) {
	if text == "" {
		var b [4]byte // short enough to be typed again
		_, _ = rand.Read(b[:])
		return uint64(binary.LittleEndian.Uint32(b[:])), nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("--seed %q: want a whole number from 0 to 18446744073709551615", text)
	}
	return n, nil
}

func (f *runFlags) checkUI() error {
	if f.ui != "off" {
		return fmt.Errorf("--ui %q: there is no live page yet: want off", f.ui)
	}
	return nil
}

// stamp names directories by the time of day.
func stamp() string { return clock.System().Now().Format("2006-01-02T15-04-05") }

// makeOut creates the directory of the report, unless it is there, and sees that it can
// be written.
func (f *runFlags) makeOut() (dir string, created bool, err error) {
	dir = f.out
	if dir == "" {
		dir = filepath.Join("reports", "runs", stamp())
	}
	if _, err := os.Stat(filepath.Join(dir, result.FileName)); err == nil {
		return "", false, fmt.Errorf("--out %s: there is a result already: want a new directory", dir)
	}
	_, err = os.Stat(dir)
	created = errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", false, fmt.Errorf("--out: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return "", false, fmt.Errorf("--out %s: cannot be written: %w", dir, err)
	}
	return dir, created, errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// discard takes away what a comparison left that ended before its first run began: no
// node was started, so there is nothing to look at.
func discard(dir string, created bool) error {
	if _, err := os.Stat(filepath.Join(dir, lab.HistoryDir)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if created {
		return os.RemoveAll(dir)
	}
	var errs []error
	for _, name := range []string{lab.LogFile, result.FileName} {
		if err := os.Remove(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
