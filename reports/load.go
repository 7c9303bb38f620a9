package reports

import (
	"context"
	"errors"
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
	Scenes [][]series.Scene
	Notes  []string // for each row: what of its histories is missing, "" if nothing
}

// Reader reads the operations of one history.
type Reader func(ctx context.Context, path string) (series.History, error)

// load reads the result and, if there is a reader for them, the histories.
func load(ctx context.Context, dir string, read Reader) (loaded, error) {
	file, err := result.Read(filepath.Join(dir, result.FileName))
	if err != nil {
		return loaded{}, err
	}
	l := loaded{Dir: dir, File: file, Series: make([]series.Series, len(file.Results)), Scenes: make([][]series.Scene, len(file.Results)), Notes: make([]string, len(file.Results))}
	if read == nil {
		return l, nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, min(runtime.GOMAXPROCS(0), 4))) // each holds a whole history in memory
	for i, row := range file.Results {
		group.Go(func() error {
			var histories []series.History
			var failed []error
			for _, path := range row.Histories {
				h, err := read(ctx, filepath.Join(dir, filepath.FromSlash(path)))
				switch {
				case ctx.Err() != nil:
					return ctx.Err()
				case err != nil:
					failed = append(failed, err)
				default:
					histories = append(histories, h)
					l.Scenes[i] = append(l.Scenes[i], h.Scenes...)
				}
			}
			l.Series[i] = series.Of(histories, row.ViolationsAtMS)
			l.Notes[i] = noteOf(dir, row, histories, errors.Join(failed...))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return loaded{}, fmt.Errorf("read the histories of %s: %w", dir, err)
	}
	return l, nil
}

// noteOf says what of a row's histories cannot be drawn.
func noteOf(dir string, row result.Row, histories []series.History, err error) string {
	name := plain(row.Lock) + " under " + plain(row.Scenario) + " with " + plain(row.Workload)
	switch {
	case err != nil:
		// The directory says nothing to those who read the report elsewhere.
		why := strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
		return name + ": not every history can be drawn: " + plain(strings.ReplaceAll(why, "\n", "; "))
	case len(row.Histories) == 0:
		return name + ": no history was kept, so nothing is drawn over time"
	}
	for _, h := range histories {
		if len(h.Incomplete) > 0 {
			return name + ": " + plain(h.Incomplete[0]) + "; what there is is drawn"
		}
	}
	return ""
}
