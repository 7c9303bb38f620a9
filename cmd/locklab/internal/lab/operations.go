package lab

import (
	"context"
	"time"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/reports/series"
	"locklab/workloads/check"
)

// Operations reads a history for the plots of a report, with the operations that the
// checker counts.
func Operations(ctx context.Context, path string) (series.History, error) {
	options := catalog.CheckOptions()
	options.Ops = true
	found, err := check.File(ctx, path, options)
	if err != nil {
		return series.History{}, err
	}
	inMS := func(ns int64) float64 { return float64(ns) / float64(time.Millisecond) }
	h := series.History{DurationMS: inMS(found.MeasuredNS), Incomplete: found.Incomplete, Ops: make([]series.Op, len(found.Ops))}
	for i, o := range found.Ops {
		h.Ops[i] = series.Op{DueMS: inMS(o.DueNS), EndMS: inMS(o.EndNS), OK: o.OK}
	}
	h.Scenes, err = series.Scenes(ctx, path, Moments(found, shownEach))
	return h, err
}

// shownEach is how many violations of each kind a report shows in detail.
const shownEach = 2
