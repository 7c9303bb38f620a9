package reports

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"locklab/reports/result"
	"locklab/reports/series"
)

// loaded is one run as it was found on disk.
type loaded struct {
	Dir    string
	File   result.File
	Series []series.Series // for each row of File.Results; without bins if there was no history
	Notes  []string        // what was missing
}

// load reads the result and, if withSeries, the histories.
func load(ctx context.Context, dir string, withSeries bool) (loaded, error) {
	file, err := result.Read(filepath.Join(dir, result.FileName))
	if err != nil {
		return loaded{}, err
	}
	l := loaded{Dir: dir, File: file, Series: make([]series.Series, len(file.Results))}
	if !withSeries {
		return l, nil
	}
	notes := make([]string, len(file.Results))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, min(runtime.GOMAXPROCS(0), 4))) // each holds a whole history in memory
	for i, row := range file.Results {
		group.Go(func() error {
			paths := make([]string, len(row.Histories))
			for j, path := range row.Histories {
				paths[j] = filepath.Join(dir, filepath.FromSlash(path))
			}
			s, err := series.Read(ctx, paths, row.ViolationsAtMS)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			l.Series[i] = s
			notes[i] = noteOf(dir, row, s, err)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return loaded{}, fmt.Errorf("read the histories of %s: %w", dir, err)
	}
	for _, note := range notes {
		if note != "" {
			l.Notes = append(l.Notes, note)
		}
	}
	return l, nil
}

// noteOf says what of a row's histories cannot be drawn.
func noteOf(dir string, row result.Row, s series.Series, err error) string {
	name := plain(row.Lock) + " under " + plain(row.Scenario) + " with " + plain(row.Workload)
	switch {
	case err != nil:
		// The directory says nothing to those who read the report elsewhere.
		why := strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
		return name + ": not every history can be drawn: " + plain(strings.ReplaceAll(why, "\n", "; "))
	case len(row.Histories) == 0:
		return name + ": no history was kept, so nothing is drawn over time"
	case s.Torn:
		return name + ": a history ends in the middle of a line; what came before is drawn"
	default:
		return ""
	}
}
