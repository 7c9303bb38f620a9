package page

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/series"
	"locklab/reports/view"
	"locklab/reports/why"
	"locklab/workloads/result"
)

// cell is one combination, with the series of its histories.
type cell struct {
	result.Cell
	series.Series
	offered []plots.Offered
	why     map[string]string // the worst row explained, by language; nil if nothing went wrong
	missing error             // a history could not be read
}

// load reads the histories, at most four at once: each is in memory as a whole.
func load(ctx context.Context, f *result.File, open Open) ([]cell, error) {
	all := f.Cells()
	cells := make([]cell, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, min(runtime.GOMAXPROCS(0), 4)))
	for i := range all {
		group.Go(func() error {
			c := &cells[i]
			c.Cell = all[i]
			worst := c.Worst()
			duration := 0.0
			for _, row := range c.Rows {
				duration = max(duration, row.MeasuredMS)
			}
			ops := series.NewCollector(duration)
			for _, row := range c.Rows {
				if row.History == "" {
					c.missing = fs.ErrNotExist // none was recorded
					continue
				}
				h, err := open(ctx, row)
				switch {
				case ctx.Err() != nil:
					return ctx.Err()
				case err != nil:
					c.missing = err
					continue
				}
				ops.AddRun(h.Run, h.ViolationsMS)
				if row == worst {
					c.why = explained(h, row)
				}
				c.offered = plots.Offer(nil, 0, h.Head.OfferedPS)
				for _, r := range h.Rates {
					c.offered = plots.Offer(c.offered, h.MS(r.AtNS), float64(r.Count))
				}
			}
			if s := ops.Series(); s.Repeats > 0 {
				c.Series = s
				c.Faults = windowsOf(c.Rows[0].Faults, duration)
			}
			return nil
		})
	}
	return cells, group.Wait()
}

// explained is what `locklab why` says of the row; nil if nothing went wrong.
func explained(h History, row *result.Row) map[string]string {
	if violation, outage := row.Subject(); row.Decided() && violation == nil && outage == nil {
		return nil
	}
	texts := map[string]string{}
	for _, say := range lang.All() {
		var out strings.Builder
		_ = why.Write(&out, say, row, h.Run, why.Options{}) // a builder takes everything
		texts[say.Tag] = out.String()
	}
	return texts
}

// windowsOf returns the times of the faults, sorted by their beginning. An unknown beginning is that of the
// request, an unknown end that of the run.
func windowsOf(faults []result.Fault, endMS float64) (all []series.Window) {
	for _, f := range faults {
		w := series.Window{Kind: f.Kind, FromMS: f.BeganMS, ToMS: f.EndedMS, Proven: f.Proven}
		if w.FromMS == result.Never {
			w.FromMS = f.AskedMS
		}
		if w.ToMS == result.Never {
			w.ToMS = endMS
		}
		if w.ToMS > w.FromMS {
			all = append(all, w)
		}
	}
	slices.SortStableFunc(all, func(a, b series.Window) int { return cmp.Compare(a.FromMS, b.FromMS) })
	return all
}

// evidence is the part of the page to which a cell links.
type evidence struct {
	*cell
	ID, Title, Note, Why string // Title is the scenario's
}

func evidenceOf(say *lang.Lang, v *view.View, c *cell) evidence {
	e := evidence{cell: c, ID: idOf(c.Key), Title: v.Title(c.Scenario), Why: c.why[say.Tag]}
	if errors.Is(c.missing, fs.ErrNotExist) {
		e.Note = say.Text("a history is missing")
	} else if c.missing != nil {
		e.Note = say.Sprintf("a history cannot be read: %s", c.missing.Error())
	}
	return e
}
