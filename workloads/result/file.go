package result

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"locklab/internal/atomicfile"
	"locklab/internal/strictjson"
)

// ErrInvalid says that a file is not a result that this program reads.
var ErrInvalid = errors.New("not a usable result")

// maxBytes bounds a result: a row has a few kilobytes.
const maxBytes = 64 << 20

// Read reads the result at path, or in it if path is a directory. Errors name the file and
// the field.
func Read(path string) (File, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, FileName)
		info, err = os.Stat(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return File{}, fmt.Errorf("%s: %w: want a directory that locklab run has written", path, fs.ErrNotExist)
	case err == nil && (!info.Mode().IsRegular() || info.Size() > maxBytes): // opening a pipe would wait for a writer
		return File{}, fmt.Errorf("%s: want a regular file of at most %d bytes: %w", path, maxBytes, ErrInvalid)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return File{}, fmt.Errorf("read result: %w", err)
	}
	f, err := Parse(data)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Parse decodes a result. Fields that it does not know are ignored.
func Parse(data []byte) (File, error) {
	// The schema comes first: other versions have fields of the same names and other types.
	var of struct {
		Schema string `json:"schema"`
	}
	if err := strictjson.DecodeOpen(data, &of); err != nil {
		return File{}, fmt.Errorf("%w: %w", err, ErrInvalid)
	}
	if of.Schema != Schema {
		return File{}, fmt.Errorf("schema %q, want %q, so run it again: %w", of.Schema, Schema, ErrInvalid)
	}
	var f File
	if err := strictjson.DecodeOpen(data, &f); err != nil {
		return File{}, fmt.Errorf("%w: %w", err, ErrInvalid)
	}
	for i := range f.Rows {
		if err := f.Rows[i].check(); err != nil {
			return File{}, fmt.Errorf("results[%d]: %w: %w", i, err, ErrInvalid)
		}
	}
	return f, nil
}

// check refuses rows that readers cannot handle.
func (r *Row) check() error {
	if r.Lock == "" || r.Scenario == "" || r.Workload == "" {
		return errors.New("want a lock, a scenario and a workload")
	}
	if r.History != "" && !filepath.IsLocal(r.History) {
		return fmt.Errorf("history %q: want a path below the directory of the result", r.History)
	}
	if !slices.Contains([]Comparison{AsExpected, NotAsExpected, Silent, Unsound}, r.Verdict.As) {
		return fmt.Errorf("verdict.as %q: want %q, %q, %q or %q", r.Verdict.As, AsExpected, NotAsExpected, Silent, Unsound)
	}
	for name, v := range r.Figures {
		if f, known := Lookup(name); known && f.As == Count && v < 0 {
			return fmt.Errorf("figures.%s: have %v, want a number from 0", name, v)
		}
	}
	return nil
}

// Warn adds a warning, once.
func (r *Run) Warn(text string) {
	if !slices.Contains(r.Warnings, text) {
		r.Warnings = append(r.Warnings, text)
	}
}

// Write replaces the result at path: a reader sees the old file or the new one.
func Write(path string, f File) error {
	f.Schema = Schema
	if f.Rows == nil {
		f.Rows = []Row{} // a list in the file, not null
	}
	data, err := json.Marshal(f, jsonv1.DefaultOptionsV1(), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return atomicfile.Write(path, append(data, '\n'))
}
