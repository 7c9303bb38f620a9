package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"locklab/internal/sentence"

	"github.com/spf13/pflag"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/lab"
	"locklab/cmd/locklab/internal/suite"
	"locklab/cmd/locklab/internal/threshold"
	"locklab/locks/adapters"
	"locklab/workloads/result"
)

// comparisons are what is to be run: one, or those of a suite.
type comparisons struct {
	parts      []lab.Config
	thresholds []threshold.Threshold
	claims     []suite.Claim
	text       string // in a few words
}

// comparisons checks every flag before anything is started.
func (f *runFlags) comparisons(ctx context.Context, stderr io.Writer) (comparisons, error) {
	if f.toxiproxyAPI != "" {
		if err := onLoopback("--toxiproxy-api", f.toxiproxyAPI, "it has no token"); err != nil {
			return comparisons{}, err
		}
	}
	if f.suite == "" && len(f.only) > 0 {
		return comparisons{}, errors.New("--only: want --suite, whose claims it names, such as --suite track")
	}
	if f.suite == "" {
		c, thresholds, err := f.config(ctx, stderr)
		text := sentence.Plural(len(c.Locks), "lock") + ", " + sentence.Plural(len(c.Scenarios), "scenario")
		return comparisons{parts: []lab.Config{c}, thresholds: thresholds, text: text}, err
	}
	s, err := suite.Load(f.suite)
	if err != nil {
		return comparisons{}, fmt.Errorf("--suite: %w", err)
	}
	if err := f.checkSuiteFlags(); err != nil {
		return comparisons{}, err
	}
	if len(f.only) > 0 {
		if s, err = s.Only(f.only); err != nil {
			return comparisons{}, fmt.Errorf("--only %w", err)
		}
	}
	f.drawSeed()
	f.asked = map[string]library{}
	p := comparisons{claims: s.Claims, text: fmt.Sprintf("suite %s, %s", s.Name, sentence.Plural(len(s.Claims), "claim"))}
	rows, programs := map[result.Key]bool{}, map[string]string{}
	for i, part := range s.Parts {
		one, line, err := f.part(part)
		var c lab.Config
		if err == nil {
			if c, p.thresholds, err = one.config(ctx, stderr); err == nil {
				err = joinPart(rows, programs, one.Names.Locks, c)
			}
		}
		if err != nil {
			return comparisons{}, fmt.Errorf("--suite: %s:%d: parts[%d]: %w: %w", s.File, line, i, err, suite.ErrInvalid)
		}
		if len(c.Locks) > 0 {
			p.parts = append(p.parts, c)
		}
	}
	if len(p.parts) == 0 {
		return comparisons{}, fmt.Errorf("--suite %s: none of its locks has its server here", s.Name)
	}
	return p, s.CheckCells(rows)
}

// joinPart adds a part's rows, and its programs. One result has each row once, and an agent each name once. Rows of
// locks whose server is missing are added, too.
func joinPart(rows map[result.Key]bool, programs map[string]string, locks []string, c lab.Config) error {
	all := catalog.Split(strings.Join(locks, ","))
	all = slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(adapters.Names(), name) })
	named, _ := catalog.ParseList(locks) // a lock of the user, or all: c has them
	for _, lock := range catalog.Texts(slices.Concat(c.Locks, named)) {
		if !slices.Contains(all, lock) {
			all = append(all, lock)
		}
	}
	for _, lock := range all {
		for _, sc := range c.Scenarios {
			key := result.Key{Lock: lock, Scenario: sc.Name, Workload: c.Workload.Name}
			if rows[key] {
				return fmt.Errorf("%s under %s with the workload %s is in two parts: want each once",
					key.Lock, key.Scenario, key.Workload)
			}
			rows[key] = true
		}
	}
	for name, command := range c.Programs {
		if other, is := programs[name]; is && other != command.String() {
			return fmt.Errorf("--lock-cmd %s: %q is another program than %q of an earlier part: want another name",
				name, command, other)
		}
		programs[name] = command.String()
	}
	return nil
}

// ofUser are the flags that a suite's user sets: where it runs, and what is made of it.
func ofUser() []string {
	own := []string{"out", "lang", "fail-on", "topology", "repeat", "agents", "external"}
	return append(own, ofThisTime()...)
}

// checkSuiteFlags refuses flags that are the suite's to say.
func (f *runFlags) checkSuiteFlags() (err error) {
	f.set.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(append(ofUser(), "suite", "only", "seed"), flag.Name) {
			err = fmt.Errorf("--%s: the suite says it: want --suite with no more than --seed, --%s",
				flag.Name, strings.Join(ofUser(), ", --"))
		}
	})
	return err
}

// part are the flags of a part, with what the user set besides. line is where it, or its wrong flag, stands.
func (f *runFlags) part(part suite.Part) (one *runFlags, line int, err error) {
	one = &runFlags{args: f.args, asked: f.asked}
	one.register(pflag.NewFlagSet("part", pflag.ContinueOnError))
	one.Suite = true
	for _, flag := range part.Flags {
		not := append(ofUser(), "suite", "only", "resume", "redo", "seed")
		if slices.Contains(not, flag.Name) || one.set.Lookup(flag.Name) == nil {
			return nil, flag.Line, fmt.Errorf("%s: want a flag of locklab run that says what is run, such as locks, "+
				"scenarios, workload, duration", flag.Name)
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
	return one, part.Line, errors.Join(err, one.set.Set("seed", strconv.FormatUint(f.Seed, 10)))
}
