package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"locklab/chaos/external"
	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/lab"
	"locklab/cmd/locklab/internal/progress"
	"locklab/cmd/locklab/internal/suite"
	"locklab/cmd/locklab/internal/threshold"
	"locklab/internal/nearest"
	"locklab/internal/sentence"
	"locklab/locks/adapters"
	"locklab/locks/program"
	"locklab/workloads/result"
)

// runFlags is what the user typed, before it is checked.
type runFlags struct {
	lab.Config
	quick, full             bool
	workload, suite, resume string
	out, lang, ui           string
	capacity, tokenFile     string
	toxiproxyAPI            string
	failOn, external, redo  []string
	lockCmds, only          []string
	args                    []string // of a run that goes on
	asked                   map[string]library
	own                     []ownFlags
	set                     *pflag.FlagSet // where these flags are
}

// library is the lock of an adapter, as its program has described it.
type library struct {
	catalog.Lock
	command program.Command
}

// ownFlags are the flags of one workload.
type ownFlags struct {
	catalog.Workload
	load  catalog.Load
	flags *pflag.FlagSet
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Compare locks while something is broken, and write a report",
		Long: `run starts real processes, lets clients work with each lock while each scenario
breaks something, judges what happened at the oracle, and writes a report.

Without flags it compares none, local, multiphase, multiphase:quorum, redlock
and raft under baseline, zone-latency, zone-partition and zone-failure.

Exit codes: 0 all as expected; 1 cannot run; 2 a verdict that was not expected,
or a --fail-on threshold; 3 a control did not fire; 4 inconclusive; 130
interrupted, or 143 by SIGTERM.`,
		Example: `  locklab run                                          the whole comparison
  locklab run --quick                                  in 90 seconds
  locklab run --locks redlock:ttl=1s,raft --scenarios zone-failure
  locklab run --topology seoul-3az --duration 20s --rate 500 --repeat 3 --seed 7
  locklab run --workload fenced-write --fencing off --scenarios granted-pause
  locklab run --locks redlock --fail-on 'duplicates>0'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.register(cmd.Flags())
	cmd.SetUsageFunc(usage)
	return cmd
}

func (f *runFlags) register(fl *pflag.FlagSet) {
	f.set = fl
	fl.StringArrayVar(&f.Names.Locks, "locks", nil, "locks, or all; options as in redlock:ttl=1s")
	fl.StringSliceVar(&f.Names.Scenarios, "scenarios", nil, "scenarios, by name or YAML file, or all")
	fl.StringVar(&f.Names.Topology, "topology", "seoul-2az", "topology, or a YAML file")
	fl.StringVar(&f.workload, "workload", catalog.WorkloadNames()[0], "what clients do")
	fl.StringArrayVar(&f.lockCmds, "lock-cmd", nil, lockCmdUsage)
	fl.StringVar(&f.suite, "suite", "", "instead: "+strings.Join(suite.Names(), ", ")+", file")
	fl.StringSliceVar(&f.only, "only", nil, "with --suite, claims by their names")
	fl.DurationVar(&f.Duration, "duration", lab.DefaultDuration, "measured time; some scenarios raise it")
	fl.DurationVar(&f.Warmup, "warmup", lab.DefaultWarmup, "time before it: only violations count")
	fl.DurationVar(&f.Patience, "patience", 0, "how long clients wait (default 2.5s, or 25 round trips)")
	fl.Float64Var(&f.Rate, "rate", 0, "operations per second (default 300 matches)")
	fl.IntVar(&f.Repeat, "repeat", 1, "runs of each combination")
	fl.IntVar(&f.Episodes, "episodes", 1, "times that a run goes through its scenario")
	fl.Uint64Var(&f.Seed, "seed", 0, "seed of every random choice (default: drawn)")
	fl.BoolVar(&f.quick, "quick", false, "four locks, three scenarios, short faults")
	fl.StringVar(&f.capacity, "capacity", "on", "measure grants per second: on or off")
	fl.StringVar(&f.out, "out", "", "directory of the report (default reports/runs/TIME)")
	fl.BoolVar(&f.full, "full", false, "print every figure")
	langFlag(fl, &f.lang, ofSummary)
	fl.StringArrayVar(&f.failOn, "fail-on", nil, "exit 2 if any row is so: 'duplicates>0'")
	fl.StringVar(&f.ui, "ui", "", "page that follows the run, or off")
	fl.StringVar(&f.resume, "resume", "", "directory of an interrupted run: run the rest")
	fl.StringSliceVar(&f.redo, "redo", nil, "with --resume, run such rows again: inconclusive")
	fl.StringVar(&f.Names.Agents, "agents", "", "each host's agent, such as http://{host}:7500")
	fl.StringVar(&f.tokenFile, "token-file", "", "agents' bearer token (default: $LOCKLAB_TOKEN)")
	fl.DurationVar(&f.Wait, "wait", 0, "time to wait for agents that do not answer yet")
	fl.StringArrayVar(&f.external, "external", nil, "programs that begin and end external faults")
	fl.StringVar(&f.toxiproxyAPI, "toxiproxy-api", "", "toxiproxy's API, such as 127.0.0.1:8474")
	for _, w := range catalog.Workloads() {
		own := pflag.NewFlagSet(w.Name, pflag.ContinueOnError)
		f.own = append(f.own, ownFlags{w, w.Flags(own), own})
		fl.AddFlagSet(own)
	}
}

// parse reads flags as if they had been typed.
func (f *runFlags) parse(args []string) error {
	f.register(pflag.NewFlagSet("run", pflag.ContinueOnError))
	return f.set.Parse(args)
}

func (f *runFlags) run(ctx context.Context, stdout, stderr io.Writer) (failed error) {
	earlier, err := f.goOn(ctx)
	if err != nil {
		return err
	}
	say, err := language(f.lang)
	if err != nil {
		return err
	}
	todo, err := f.comparisons(ctx, stderr)
	if err != nil {
		return err
	}
	dir := f.resume
	live, err := serveUI(ctx, f.ui, todo.text, todo.parts, earlier, stderr)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, live.close(pagePath(say, dir))) }()
	if todo.parts[0].Toxiproxy, err = listenToxiproxy(ctx, f.toxiproxyAPI, stderr); err != nil {
		return err
	}
	created := false
	if earlier == nil {
		if dir, created, err = f.makeOut(); err != nil {
			return err
		}
	}
	for i := range todo.parts {
		todo.parts[i].Dir = dir
	}
	runs, about := lab.Remaining(todo.parts, earlier)
	fmt.Fprintln(stderr, folded(stderr, fmt.Sprintf("locklab: %s, %s, about %v; seed %d\nlocklab: report in %s",
		todo.text, sentence.Plural(runs, "run"), sentence.Lasting(about.Round(time.Second)), todo.parts[0].Seed, dir)))
	display := progress.New(stderr, runs, gridOf(say, todo.parts), live.Note)
	defer context.AfterFunc(ctx, func() {
		display.Note("interrupted: finishing the report; Ctrl-C again ends at once; what is missing then: locklab run " +
			"--resume " + dir)
	})()
	file, runErr := lab.Compare(ctx, todo.parts, earlier, display)
	display.Close()
	switch {
	case runErr != nil && len(file.Rows) == 0 && earlier == nil:
		return errors.Join(runErr, discard(dir, created))
	case runErr != nil && len(file.Rows) == 0: // what there was stays
		return runErr
	}
	file.Run.Claims = suite.Decide(todo.claims, file)
	crossed, as := threshold.Gate([]result.File{file}, nil, todo.thresholds)
	code := exitCode(file, as.ExitCode())
	if runErr != nil { // it would be lost behind the exit code of the verdicts
		fmt.Fprintf(stderr, "locklab: the comparison could not go on: %v\n", runErr)
		code = exitCannotRun
	}
	told := show{say: say, stdout: stdout, full: f.full, suite: todo.parts[0].Suite}
	if err := told.publish(ctx, file, dir, code); err != nil {
		return err
	}
	told.lines(crossed)
	return exitWith(code)
}

// config checks every flag before anything is started.
func (f *runFlags) config(ctx context.Context, stderr io.Writer) (lab.Config, []threshold.Threshold, error) {
	c, typed := f.Config, f.set.Changed
	if f.quick && !typed("duration") {
		c.Duration, c.Calm = lab.QuickDuration, lab.QuickCalm
		if !typed("warmup") {
			c.Warmup = lab.QuickWarmup
		}
	}
	var thresholds []threshold.Threshold
	err := inOrder(
		func() error {
			patience := error(nil)
			if typed("patience") {
				patience = catalog.Within("--patience", f.Patience, 100*time.Millisecond, 10*time.Minute)
			}
			return errors.Join(catalog.Within("--duration", c.Duration, time.Second, time.Hour), patience,
				catalog.Within("--warmup", c.Warmup, 0, time.Minute), catalog.Within("--repeat", c.Repeat, 1, 1000),
				catalog.Within("--episodes", c.Episodes, 1, 100))
		},
		func() (err error) {
			thresholds, err = threshold.ParseAll(f.failOn, false, "want locklab report BEFORE AFTER with it")
			return err
		},
		func() (err error) { c.External, err = external.Parse(f.external); return named("--external", err) },
		func() error {
			names := &c.Names.Scenarios
			switch *names = trimmed(*names); {
			case typed("scenarios") && len(*names) == 0:
				return errors.New("--scenarios: want a name or a file, such as baseline; without it the usual ones are run")
			case len(*names) == 0 && f.quick:
				*names = lab.QuickScenarios()
			case len(*names) == 0:
				*names = lab.DefaultScenarios()
			case slices.Equal(*names, []string{"all"}):
				*names = scenario.Names()
			}
			return nil
		},
		func() error { return f.setUp(ctx, &c, stderr) },
		func() (err error) { c.Token, err = awaitToken(ctx, f.tokenFile, c.Wait); return err },
	)
	return c, thresholds, err
}

// trimmed are names without the blanks that may follow a comma.
func trimmed(names []string) []string {
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
	}
	return names
}

// named begins an error with its flag.
func named(flag string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// inOrder takes steps until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// setUp checks what every lab is made of: the load, the topology and the locks.
func (f *runFlags) setUp(ctx context.Context, c *lab.Config, stderr io.Writer) error {
	f.drawSeed()
	c.Seed = f.Seed
	if f.capacity != "on" && f.capacity != "off" {
		return fmt.Errorf("--capacity %s: want on or off", f.capacity)
	}
	c.Capacity = f.capacity != "off" && !c.Suite && (!f.quick || f.set.Changed("capacity"))
	if c.Args = f.args; c.Args == nil {
		c.Args = os.Args[1:]
	}
	c.OwnDuration, c.OwnWarmup = f.set.Changed("duration"), f.set.Changed("warmup")
	return inOrder(
		func() error { return f.chooseWorkload(c) },
		func() error { return catalog.Within("--wait", c.Wait, 0, time.Hour) },
		func() error {
			if f.set.Changed("rate") && !(c.Rate > 0 && c.Rate <= 1e6) {
				return fmt.Errorf("--rate %v: want operations per second, a number above 0 and at most 1000000", c.Rate)
			}
			return nil
		},
		func() error { return f.bring(ctx, c, stderr) },
		c.Resolve,
		lab.CheckFiles,
	)
}

const lockCmdUsage = "a lock of yours: see locks/program/README.md"

// bring asks the user's programs and the libraries what they are. Without names the usual locks are compared.
func (f *runFlags) bring(ctx context.Context, c *lab.Config, stderr io.Writer) (err error) {
	if c.Programs, err = catalog.ParsePrograms(f.lockCmds); err != nil {
		return err
	}
	if f.asked == nil {
		f.asked = map[string]library{}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Programs)) {
		hello, err := program.Describe(ctx, c.Programs[name], stderr)
		if err != nil {
			return fmt.Errorf("--lock-cmd %s: %w: locklab conform '%s' says more", name, err, c.Programs[name])
		}
		l, err := catalog.OfProgram(name, c.Programs[name], hello)
		if err != nil {
			return fmt.Errorf("--lock-cmd: %w", err)
		}
		c.Own = append(c.Own, l)
	}
	for _, name := range catalog.Split(strings.Join(c.Names.Locks, ",")) {
		a, is := adapters.Find(name)
		if _, users := c.Programs[name]; !is || users {
			continue
		}
		l, known := f.asked[name] // by an earlier part of the suite
		if !known {
			words, err := a.Command()
			if c.Suite && errors.Is(err, adapters.ErrNotInstalled) {
				leaveOut(c, name, err)
				continue
			}
			if err == nil {
				l, err = ask(ctx, a, words, stderr)
			}
			if err != nil {
				return fmt.Errorf("--locks %s: %w", name, err)
			}
			f.asked[name] = l
		}
		c.Programs[name] = l.command
		c.Own = append(c.Own, l.Lock)
	}
	switch {
	case len(c.Names.Locks) > 0:
	case f.quick:
		c.Names.Locks = lab.QuickLocks()
	case len(c.Unavailable) == 0:
		c.Names.Locks = catalog.DefaultLocks()
	}
	return nil
}

// ask asks the program of a library what it is.
func ask(ctx context.Context, a adapters.Adapter, words []string, stderr io.Writer) (l library, err error) {
	if l.command, err = program.ParseCommand(program.Command{Args: words}.String()); err != nil {
		return l, err
	}
	hello, err := program.Describe(ctx, l.command, stderr)
	if err == nil {
		l.Lock, err = catalog.OfAdapter(a, l.command, hello)
	}
	return l, err
}

// leaveOut takes a library that is not installed out of the locks of a suite.
func leaveOut(c *lab.Config, name string, why error) {
	all := catalog.Split(strings.Join(c.Names.Locks, ","))
	c.Names.Locks = nil
	if rest := slices.DeleteFunc(all, func(one string) bool { return one == name }); len(rest) > 0 {
		c.Names.Locks = []string{strings.Join(rest, ",")}
	}
	c.Unavailable = append(c.Unavailable, fmt.Sprintf("%s is unavailable: %v", name, why))
}

// chooseWorkload refuses flags that only other workloads have. Several workloads may share a flag.
func (f *runFlags) chooseWorkload(c *lab.Config) (err error) {
	mine := pflag.NewFlagSet("", pflag.ContinueOnError)
	with := map[string][]string{} // the workloads that have a flag
	for _, own := range f.own {
		own.flags.VisitAll(func(flag *pflag.Flag) { with[flag.Name] = append(with[flag.Name], own.Name) })
		if own.Name != f.workload {
			continue
		}
		c.Workload, c.Load, mine = own.Workload, own.load, own.flags
		mine.VisitAll(func(flag *pflag.Flag) {
			if typed := f.set.Lookup(flag.Name); typed != flag && typed.Changed {
				err = errors.Join(err, mine.Set(flag.Name, typed.Value.String()))
			}
			c.Settings += " " + flag.Name + "=" + strings.ReplaceAll(flag.Value.String(), " ", "")
		})
	}
	for _, own := range f.own {
		own.flags.VisitAll(func(flag *pflag.Flag) {
			if flag.Changed && mine.Lookup(flag.Name) == nil {
				err = fmt.Errorf("--%s is for --workload %s, and this is --workload %s",
					flag.Name, strings.Join(with[flag.Name], " or "), f.workload)
			}
		})
	}
	if c.Load == nil {
		names := catalog.WorkloadNames()
		return fmt.Errorf("--workload: unknown workload %q (known: %s)%s",
			f.workload, strings.Join(names, ", "), nearest.Hint(f.workload, names))
	}
	return errors.Join(err, c.Load.Check())
}

// drawSeed draws a seed that is short enough to be typed again, unless the user has set one.
func (f *runFlags) drawSeed() {
	if !f.set.Changed("seed") {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails
		f.Seed = uint64(binary.LittleEndian.Uint32(b[:]))
	}
}

// runFlagGroups are the titles in the help of `locklab run`, each with its flags; some have a word for the value.
func runFlagGroups() [][2]string {
	return [][2]string{
		{"What is compared", "locks=A,B scenarios=A,B topology=NAME workload=NAME " +
			"lock-cmd=NAME=COMMAND suite=NAME only=ID,ID"},
		{"How long, and how much", "quick " +
			"duration=TIME warmup=TIME patience=TIME rate=N repeat=N episodes=N seed=N capacity=on|off"},
		{"What clients do", "groups=N seats=N clients=N hold=TIME resources=N fencing=on|off"},
		{"What comes out", "out=DIR full lang=en|ko ui=ADDR fail-on=FIGURE>N"},
		{"Going on with a run", "resume=DIR redo=VERDICT"},
		{"Hosts with agents", "agents=URL token-file=FILE wait=TIME"},
		{"Other tools", "toxiproxy-api=ADDR external=NAME=START,STOP"},
	}
}

// usage is what help says below the description of run.
func usage(command *cobra.Command) error {
	var text strings.Builder
	fmt.Fprintf(&text, "Usage:\n  %s\n\nExamples:\n%s\n", command.UseLine(), command.Example)
	for _, group := range runFlagGroups() {
		width, flags := 0, strings.Fields(group[1])
		for _, flag := range flags {
			width = max(width, len(flag))
		}
		fmt.Fprintf(&text, "\n%s:\n", group[0])
		for _, flag := range flags {
			name, value, _ := strings.Cut(flag, "=")
			f := command.Flags().Lookup(name)
			fmt.Fprintf(&text, "  --%-*s   %s", width, strings.TrimSpace(name+" "+value), f.Usage)
			if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
				fmt.Fprintf(&text, " (default %s)", f.DefValue)
			}
			text.WriteByte('\n')
		}
	}
	_, err := fmt.Fprint(command.OutOrStderr(), text.String())
	return err
}
