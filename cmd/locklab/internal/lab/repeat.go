package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/seed"
	"locklab/internal/sentence"
	"locklab/nodes/topology"
	"locklab/reports/noise"
	"locklab/reports/result"
	"locklab/reports/series"
	"locklab/workloads/check"
	"locklab/workloads/history"
)

// repeat is one run of a combination, as it was judged.
type repeat struct {
	found   *check.Findings
	history string // below the report's directory
	figures result.Repeat
	aside   []sentence.Text // what tries of it that decided nothing showed, where safety is expected
}

// judge reads a history below the directory of the report.
func judge(ctx context.Context, dir, path string) (repeat, error) {
	options := catalog.CheckOptions()
	options.Ops = true
	found, err := check.File(ctx, filepath.Join(dir, filepath.FromSlash(path)), options)
	if err != nil {
		return repeat{}, err
	}
	r := repeat{found: found, history: filepath.ToSlash(path), figures: figuresOf(found)}
	if check.ExpectationOf(found.Run).Safety == check.Safe {
		r.aside = seenAside(ctx, filepath.Join(dir, filepath.FromSlash(path)))
	}
	found.Ops, found.Acquires = nil, nil // all that was wanted of them is in the figures
	debug.FreeOSMemory()                 // a history takes much for a moment, and nothing is measured now
	return r, nil
}

// seenAside is what the histories that were set aside show, because they decide nothing: what was
// seen stays on record, although another run is judged instead.
func seenAside(ctx context.Context, path string) (all []sentence.Text) {
	for n := 1; ; n++ {
		beside := besides(path, result.StatusInconclusive, n)
		if _, err := os.Lstat(beside); err != nil {
			return all
		}
		found, err := check.File(ctx, beside, catalog.CheckOptions())
		if err != nil {
			continue // what cannot be read shows nothing
		}
		if n, what := found.Violations(); n > 0 {
			all = append(all, what)
		}
	}
}

// begin gives the repeats of a combination that stand, in the order of their histories: of
// an earlier row that is not whole, those that decided something. They alone are its row
// from now on; the histories of the others are kept beside, as what they are. Whatever ends
// this process meanwhile, a history without a row is judged again; see [Complete].
func (t *table) begin(ctx context.Context, dir string, key rowKey, topo *topology.Topology) (standing []repeat, err error) {
	row, there := t.rows[key]
	if !there {
		return nil, nil
	}
	var undecided []string
	for _, path := range row.Histories {
		if decided(row) == 0 {
			undecided = append(undecided, path)
			continue
		}
		one, err := judge(ctx, dir, path)
		if err != nil {
			return nil, err
		}
		if check.Judge(one.found, check.ExpectationOf(one.found.Run)).Status == check.Inconclusive {
			undecided = append(undecided, path)
		} else {
			standing = append(standing, one)
		}
	}
	if len(standing) == 0 {
		err = t.drop(key)
	} else {
		row = rowOf(standing, topo)
		row.Partial = true
		err = t.put(row)
	}
	for _, path := range undecided {
		if err == nil {
			err = setAside(filepath.Join(dir, filepath.FromSlash(path)), result.StatusInconclusive)
		}
	}
	return standing, err
}

// decided is how many repeats of the row came to a verdict of their own.
func decided(row result.Row) int {
	switch {
	case row.Tries != nil:
		return row.Tries.Seen + row.Tries.Unseen
	case row.Verdict.Undecided():
		return 0
	}
	return len(row.Histories)
}

// setAside keeps what is there under a name of its own, which says why it counts no more.
func setAside(path, why string) error {
	for n := 1; ; n++ {
		beside := besides(path, why, n)
		if _, err := os.Lstat(beside); err == nil {
			continue
		}
		if err := os.Rename(path, beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep the history of a run that is run again: %w", err)
		}
		return nil
	}
}

func besides(path, why string, n int) string { return fmt.Sprintf("%s.%s-%d", path, why, n) }

// figuresOf are those of one run, with the spread within it.
func figuresOf(f *check.Findings) result.Repeat {
	row := toRow(f, check.Verdict{}, history.Expect{}, nil)
	figures := result.RepeatOf(row)
	run := noise.Run{DurationMS: ms(f.MeasuredNS), Ops: toOps(f.Ops), Acquires: toOps(f.Acquires), EventsMS: row.ViolationsAtMS, Counts: map[string]float64{}}
	for _, one := range row.Faults {
		for _, at := range []float64{one.BeganMS, one.EndedMS} {
			if at != result.Never {
				run.ChangesMS = append(run.ChangesMS, at)
			}
		}
	}
	for _, one := range result.Figures() {
		if v, has := figures.Figures[one.Field]; has && one.As == result.Count && one.Compare && one.Field != result.WarmupField { // no block has those
			run.Counts[one.Field] = v
		}
	}
	figures.Spread, figures.Range = noise.Within(run, seed.Seed(f.Run.Seed))
	return figures
}

func toOps(ops []check.Op) []series.Op {
	at := func(ns int64) float64 { return float64(ns) / float64(time.Millisecond) } // each moment came
	all := make([]series.Op, len(ops))
	for i, o := range ops {
		all[i] = series.Op{DueMS: at(o.DueNS), EndMS: at(o.EndNS), OK: o.OK, CalledOff: o.CalledOff, Early: o.Early}
	}
	return all
}
