package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"locklab/cmd/locklab/internal/lab"
	"locklab/workloads/result"
)

// goOn reads the result that --resume names, and takes its flags. Without --resume the result is nil.
func (f *runFlags) goOn(ctx context.Context) (*result.File, error) {
	dir, redo := f.resume, trimmed(f.redo)
	switch {
	case dir == "" && len(redo) > 0:
		return nil, errors.New("--redo: want it with --resume DIR, the directory of the run whose rows are to be run again")
	case dir == "":
		return nil, nil //nolint:nilnil // a run that is new has none, and that is no error
	}
	for _, verdict := range redo {
		if verdict != "inconclusive" {
			return nil, fmt.Errorf("--redo %q: want inconclusive: any other verdict stands, and --repeat in another directory "+
				"tells how often it comes", verdict)
		}
	}
	var earlier result.File
	err := lab.Complete(ctx, dir) // what is on record of a run that was killed stands, too
	if err == nil {
		earlier, err = result.Read(filepath.Join(dir, result.FileName))
	}
	run := &earlier.Run
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--resume %s: there is no %s: want the directory of a run that began", dir, result.FileName)
	case err != nil:
		return nil, fmt.Errorf("--resume: %w", err)
	case !run.Unfinished && !run.Interrupted && len(redo) == 0:
		return nil, fmt.Errorf("--resume %s: it has come to its end: want a run that was interrupted or killed, or "+
			"--redo inconclusive where rows decided nothing", dir)
	case slices.Index(run.Args, "play") == 0:
		return nil, fmt.Errorf("--resume %s: a session of locklab play cannot be repeated: want locklab report %s", dir, dir)
	}
	if len(redo) > 0 { // in the file, too: if this run is killed, --resume alone is enough
		for i := range earlier.Rows {
			earlier.Rows[i].Partial = earlier.Rows[i].Partial || !earlier.Rows[i].Decided()
		}
	}
	now := map[string]string{} // read before the flags become those of then
	f.set.Visit(func(flag *pflag.Flag) { now[flag.Name] = flag.Value.String() })
	*f = runFlags{args: run.Args}
	if err := f.parse(run.Args); err != nil {
		return nil, fmt.Errorf("--resume %s: the flags of then: %w", dir, err)
	}
	err = f.set.Set("seed", strconv.FormatUint(run.Seed, 10))
	for name, value := range now {
		then := f.set.Lookup(name).Value.String()
		switch {
		case name == "resume", name == "redo", value == then, name == "out" && filepath.Clean(value) == filepath.Clean(dir):
		case slices.Contains(ofThisTime(), name):
			err = errors.Join(err, f.set.Set(name, value))
		default:
			err = errors.Join(err, fmt.Errorf("--%s %s: with --resume the flags are those of then (%q): want no others than "+
				"--redo, --%s", name, value, then, strings.Join(ofThisTime(), ", --")))
		}
	}
	f.resume = dir
	return &earlier, err
}

// ofThisTime are the flags that a resumed run may have otherwise than it began.
func ofThisTime() []string {
	return []string{"token-file", "wait", "ui", "toxiproxy-api"}
}
