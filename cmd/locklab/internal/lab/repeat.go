package lab

import (
	"context"
	"path/filepath"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/seed"
	"locklab/reports/noise"
	"locklab/reports/result"
	"locklab/workloads/check"
	"locklab/workloads/history"
)

// repeat is one run of a combination, as it was judged.
type repeat struct {
	found   *check.Findings
	history string // below the report's directory
	figures result.Repeat
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
	found.Ops, found.Acquires = nil, nil // all that was wanted of them is in the figures
	return r, nil
}

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
		if v, has := figures.Figures[one.Field]; has && one.As == result.Count && one.Compare {
			run.Counts[one.Field] = v
		}
	}
	figures.Spread = noise.Within(run, seed.Seed(f.Run.Seed))
	return figures
}

func toOps(ops []check.Op) []noise.Op {
	all := make([]noise.Op, len(ops))
	for i, o := range ops {
		all[i] = noise.Op{DueMS: ms(o.DueNS), EndMS: ms(o.EndNS), OK: o.OK}
	}
	return all
}
