package reports

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"locklab/reports/lang"
	"locklab/reports/result"
	"locklab/reports/series"
)

// TestNotesOfRowsWithoutFiles: a result that was copied without its histories says so once; a
// file that cannot be read is named.
func TestNotesOfRowsWithoutFiles(t *testing.T) {
	dir := t.TempDir()
	row := func(lock string) result.Row {
		return result.Row{Lock: lock, Scenario: "baseline", Workload: "mutex", Repeats: 1, Histories: []string{lock + ".jsonl"}}
	}
	file := result.File{Schema: result.Schema, Run: result.Run{ID: "a"}, Results: []result.Row{row("redis"), row("raft"), row("etcd")}}
	if err := result.Write(filepath.Join(dir, result.FileName), file); err != nil {
		t.Fatal(err)
	}
	l, err := load(t.Context(), dir, func(_ context.Context, path string) (series.History, error) {
		if strings.HasSuffix(path, "etcd.jsonl") {
			return series.History{}, errors.New("line 3: torn")
		}
		return series.History{}, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	})
	if err != nil {
		t.Fatal(err)
	}
	say, err := lang.Of(lang.EnglishTag)
	if err != nil {
		t.Fatal(err)
	}
	notes := notesOf(say, l)
	if len(notes) != 2 || !strings.HasPrefix(notes[0], "The histories of 2 of 3 rows") || !strings.Contains(notes[1], "line 3: torn") {
		t.Errorf("notes: %q", notes)
	}
}

// TestWithin: the directory is taken from the beginnings of paths, and from nothing else.
func TestWithin(t *testing.T) {
	for _, tt := range []struct{ dir, text, want string }{
		{"a", "a/x.jsonl:2: decode", "x.jsonl:2: decode"},
		{"a", "open data/x: read a/x", "open data/x: read x"},
		{"/tmp/run/", "open /tmp/run/h/x: gone\n/tmp/run/h/y: gone", "open h/x: gone\nh/y: gone"},
		{".", "open ../x/y.jsonl", "open ../x/y.jsonl"},
		{"r.n", `read "run/x" and "r.n/x"`, `read "run/x" and "x"`},
	} {
		if got := within(tt.dir, tt.text); got != tt.want {
			t.Errorf("%s in %q: %q, want %q", tt.dir, tt.text, got, tt.want)
		}
	}
}
