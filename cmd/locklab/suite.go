package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/lab"
	"locklab/cmd/locklab/internal/progress"
	"locklab/cmd/locklab/internal/suite"
	"locklab/cmd/locklab/internal/threshold"
	"locklab/workloads/result"
)

// plan is what is to be run: one comparison, or those of a suite.
type plan struct {
	parts      []lab.Config
	thresholds []threshold.Threshold
	claims     []suite.Claim
	text       string // in a few words
}

// plan checks every flag before anything is started.
func (f *runFlags) plan(ctx context.Context, stderr io.Writer) (plan, error) {
	if f.suite == "" {
		c, thresholds, err := f.config(ctx, stderr)
		text := progress.Plural(len(c.Locks), "lock") + ", " + progress.Plural(len(c.Scenarios), "scenario")
		return plan{parts: []lab.Config{c}, thresholds: thresholds, text: text}, err
	}
	s, err := suite.Load(f.suite)
	if err != nil {
		return plan{}, fmt.Errorf("--suite: %w", err)
	}
	if err := f.checkSuiteFlags(); err != nil {
		return plan{}, err
	}
	seed, err := parseSeed(f.seed)
	if err != nil {
		return plan{}, err
	}
	p := plan{claims: s.Claims, text: fmt.Sprintf("suite %s, %s", s.Name, progress.Plural(len(s.Claims), "claim"))}
	var made []func(suite.Cell) bool // of each part
	for i, part := range s.Parts {
		fail := func(line int, err error) (plan, error) {
			return plan{}, fmt.Errorf("--suite: %s:%d: parts[%d]: %w: %w", s.File, line, i, err, suite.ErrInvalid)
		}
		one, line, err := f.part(part, seed)
		if err != nil {
			return fail(line, err)
		}
		locks, all := slices.Clone(one.locks), slices.Equal(one.locks, []string{"all"})
		c, thresholds, err := one.config(ctx, stderr)
		if err != nil {
			return fail(part.Line, err)
		}
		made = append(made, func(cell suite.Cell) bool {
			return cell.Workload == c.Workload.Name && slices.ContainsFunc(c.Scenarios, func(s scenario.Scenario) bool { return s.Name == cell.Scenario }) &&
				(all || named(locks, cell.Lock) || slices.ContainsFunc(c.Locks, func(l catalog.Lock) bool { return l.String() == cell.Lock }))
		})
		if !slices.Contains(suite.Names(), f.suite) {
			if c.Inputs[f.suite], err = sumOf(f.suite); err != nil {
				return fail(part.Line, err)
			}
		}
		if err := sameProgram(p.parts, c); err != nil {
			return fail(part.Line, err)
		}
		if len(c.Locks) > 0 {
			p.parts = append(p.parts, c)
		}
		p.thresholds = thresholds // the same for all
	}
	if len(p.parts) == 0 {
		return plan{}, fmt.Errorf("--suite %s: none of its locks has its server here", s.Name)
	}
	err = s.CheckCells(func(cell suite.Cell) bool {
		return slices.ContainsFunc(made, func(makes func(suite.Cell) bool) bool { return makes(cell) })
	})
	return p, errors.Join(err, unique(s, p.parts))
}

// named says whether a list of locks has one of that name, also where its server is missing.
func named(list []string, lock string) bool {
	all, err := catalog.ParseList("locks", list)
	return err == nil && slices.ContainsFunc(all, func(l catalog.Lock) bool { return l.String() == lock })
}

// ofUser are the flags that a suite's user sets: where it runs, and what is made of it.
func ofUser() []string {
	return slices.Concat([]string{"out", "junit", "lang", "fail-on", "baseline", "topology", "repeat", "agents", "external"}, ofThisTime())
}

// ofThisTime are those of them that a run that goes on may have otherwise than it began.
func ofThisTime() []string {
	return []string{"token-file", "wait", "ui", "toxiproxy-api", "toxiproxy-api-anywhere", "otlp"}
}

// checkSuiteFlags refuses flags that are the suite's to say.
func (f *runFlags) checkSuiteFlags() (err error) {
	f.set.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(ofUser(), flag.Name) && !slices.Contains([]string{"suite", "seed"}, flag.Name) {
			err = fmt.Errorf("--%s: the suite says it: want --suite with no more than --seed, --%s", flag.Name, strings.Join(ofUser(), ", --"))
		}
	})
	return err
}

// part are the flags of a part, with what the user set besides.
func (f *runFlags) part(part suite.Part, seed uint64) (one *runFlags, line int, err error) {
	one = &runFlags{args: f.args}
	one.register(pflag.NewFlagSet("part", pflag.ContinueOnError))
	one.Suite = true
	for _, flag := range part.Flags {
		if slices.Contains(ofUser(), flag.Name) || one.set.Lookup(flag.Name) == nil || slices.Contains([]string{"suite", "resume", "redo", "seed"}, flag.Name) {
			return nil, flag.Line, fmt.Errorf("%s: want a flag of locklab run that says what is run, such as locks, scenarios, workload, duration", flag.Name)
		}
		if err := one.set.Set(flag.Name, flag.Value); err != nil {
			return nil, flag.Line, fmt.Errorf("%s: %w", flag.Name, err)
		}
	}
	f.set.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(ofUser(), flag.Name) {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			err = errors.Join(err, one.set.Set(flag.Name, v))
		}
	})
	return one, part.Line, errors.Join(err, one.set.Set("seed", strconv.FormatUint(seed, 10)))
}

// sameProgram sees that a name is that of one program in all parts: an agent has each once.
func sameProgram(parts []lab.Config, c lab.Config) error {
	for _, before := range parts {
		for name, command := range c.Programs {
			if other, is := before.Programs[name]; is && other.String() != command.String() {
				return fmt.Errorf("--lock-cmd %s: %q is another program than %q of an earlier part: want another name", name, command, other)
			}
		}
	}
	return nil
}

// unique sees that no combination is run twice: one result has one row for each.
func unique(s suite.Suite, parts []lab.Config) error {
	seen := map[[3]string]bool{}
	for _, c := range parts {
		for _, lock := range c.Locks {
			for _, sc := range c.Scenarios {
				key := [3]string{lock.String(), sc.Name, c.Workload.Name}
				if seen[key] {
					return fmt.Errorf("--suite: %s: %s under %s with the workload %s is in two parts: want each once: %w", s.File, key[0], key[1], key[2], suite.ErrInvalid)
				}
				seen[key] = true
			}
		}
	}
	return nil
}

// redoable are the rows that may be run again: those that decided nothing, because the machine was
// busy, say. Any other verdict stands.
func redoable() []string { return []string{"inconclusive"} }

// goOn reads what --resume names, and takes the flags of then. It returns nothing if
// there is nothing to resume.
func (f *runFlags) goOn(ctx context.Context) (*result.File, error) {
	switch {
	case f.resume == "" && len(f.redo) > 0:
		return nil, errors.New("--redo: want it with --resume DIR, the directory of the run whose rows are to be run again")
	case f.resume == "":
		return nil, nil //nolint:nilnil // a run that is new has none, and that is no error
	}
	dir := f.resume
	for _, verdict := range f.redo {
		if !slices.Contains(redoable(), verdict) {
			return nil, fmt.Errorf("--redo %q: want %s: any other verdict stands, and --repeat in another directory tells how often it comes", verdict, strings.Join(redoable(), ", "))
		}
	}
	var earlier result.File
	err := lab.Complete(ctx, dir) // what is on record of a run that was killed stands, too
	if err == nil {
		earlier, err = result.Read(filepath.Join(dir, result.FileName))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--resume %s: there is no %s: want the directory of a run that began", dir, result.FileName)
	case err != nil:
		return nil, fmt.Errorf("--resume: %w", err)
	case !earlier.Run.Unfinished && !earlier.Run.Interrupted && len(f.redo) == 0:
		return nil, fmt.Errorf("--resume %s: it has come to its end: want a run that was interrupted or killed, or --redo inconclusive where rows decided nothing", dir)
	case slices.ContainsFunc(earlier.Rows, func(r result.Row) bool { return r.Played }) || slices.Index(earlier.Run.Args, "play") == 0:
		return nil, fmt.Errorf("--resume %s: it is a session of locklab play, which nobody can repeat: want locklab report %s for what there is", dir, dir)
	case len(earlier.Run.Args) == 0:
		return nil, fmt.Errorf("--resume %s: its %s does not say with which flags it was run", dir, result.FileName)
	}
	if len(f.redo) > 0 { // in the file, too, so that a killed run is gone on with by --resume alone
		for i := range earlier.Rows {
			earlier.Rows[i].Partial = earlier.Rows[i].Partial || !earlier.Rows[i].Decided()
		}
	}
	now := map[string]string{} // before the flags, which they are the values of, are those of then
	f.set.Visit(func(flag *pflag.Flag) { now[flag.Name] = flag.Value.String() })
	*f = runFlags{args: earlier.Run.Args}
	f.register(pflag.NewFlagSet("run", pflag.ContinueOnError))
	if err := f.set.Parse(earlier.Run.Args); err != nil {
		return nil, fmt.Errorf("--resume %s: the flags of then: %w", dir, err)
	}
	f.seed = strconv.FormatUint(earlier.Run.Seed, 10)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		value, then := now[name], f.set.Lookup(name).Value.String()
		switch {
		case slices.Contains([]string{"resume", "redo"}, name), value == then:
		case name == "out" && filepath.Clean(value) == filepath.Clean(dir):
		case slices.Contains(ofThisTime(), name):
			err = errors.Join(err, f.set.Set(name, value))
		default:
			err = errors.Join(err, fmt.Errorf("--%s %s: with --resume the flags are those of then (%q): want no others than --redo, --%s", name, value, then, strings.Join(ofThisTime(), ", --")))
		}
	}
	f.resume = dir
	return &earlier, err
}
