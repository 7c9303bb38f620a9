package reports

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/reports/result"
	"locklab/reports/series"
)

// loaded is one run as it was found on disk.
type loaded struct {
	Dir    string
	File   result.File
	Series []series.Series // for each row of File.Results; without bins if there was no history
	Scenes [][]series.Scene
	Notes  []sentence.Text // for each row: what of its histories is missing
	Gone   []bool          // for each row: all of them are, as files
}

// Reader reads the operations of one history.
type Reader func(ctx context.Context, path string) (series.History, error)

// load reads the result and, if there is a reader for them, the histories.
func load(ctx context.Context, dir string, read Reader) (loaded, error) {
	file, err := result.Read(filepath.Join(dir, result.FileName))
	if err != nil {
		return loaded{}, err
	}
	l := loaded{Dir: dir, File: file, Series: make([]series.Series, len(file.Results)), Scenes: make([][]series.Scene, len(file.Results)), Notes: make([]sentence.Text, len(file.Results)), Gone: make([]bool, len(file.Results))}
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
			l.Gone[i] = len(failed) > 0 && len(histories) == 0 && !slices.ContainsFunc(failed, func(err error) bool { return !errors.Is(err, fs.ErrNotExist) })
			l.Notes[i] = noteOf(dir, row, histories, errors.Join(failed...))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return loaded{}, fmt.Errorf("read the histories of %s: %w", dir, err)
	}
	return l, nil
}

// noteOf says what of a row's histories cannot be drawn, if anything.
func noteOf(dir string, row result.Row, histories []series.History, err error) sentence.Text {
	name := sentence.Of("%s under %s with %s", row.Lock, row.Scenario, row.Workload)
	switch {
	case err != nil:
		return sentence.Of("%s: not every history can be drawn: %s", name, strings.ReplaceAll(within(dir, err.Error()), "\n", "; "))
	case len(row.Histories) == 0:
		return sentence.Of("%s: no history was kept, so nothing is drawn over time", name)
	}
	for _, h := range histories {
		if len(h.Incomplete) > 0 {
			return sentence.Of("%s: %s; what there is is drawn", name, h.Incomplete[0])
		}
	}
	return sentence.Text{}
}

// within names the files of a directory in a text as one does from there: where it lies says
// nothing to those who read the report elsewhere. A name that only ends like the directory's
// stays as it is.
func within(dir, text string) string {
	begins := regexp.MustCompile(`(^|[\s"'(:])` + regexp.QuoteMeta(filepath.Clean(dir)+string(filepath.Separator)))
	return begins.ReplaceAllString(text, "$1")
}

// notesOf are the notes on all rows. Where the files of several are gone, as in a result that
// was copied without them, one is for all of these.
func notesOf(say *lang.Lang, l loaded) []string {
	var all []string
	gone := 0
	for _, is := range l.Gone {
		if is {
			gone++
		}
	}
	if gone > 1 {
		all = append(all, say.Sprintf("The histories of %d of %d rows are not in this directory: nothing of these rows is drawn over time, and their evidence shows no operation", gone, len(l.Gone)))
	}
	for i, n := range l.Notes {
		if told := gone > 1 && l.Gone[i]; !told && !n.IsZero() {
			all = append(all, plain(say.Tell(n)))
		}
	}
	return all
}
