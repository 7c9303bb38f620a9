package result

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/atomicfile"
	"locklab/internal/strictjson"
)

// ErrInvalid is wrapped by errors about a file that is no result of this version.
var ErrInvalid = errors.New("result: invalid")

// maxBytes bounds a result: a row is a few kilobytes.
const maxBytes = 64 << 20

// Read reads the result at a path. Errors name the file and the field.
func Read(path string) (File, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, fmt.Errorf("%s: %w: want a directory that locklab run has written", path, fs.ErrNotExist)
	}
	if err != nil {
		return File{}, fmt.Errorf("read result: %w", err)
	}
	// To open a pipe would wait for a writer.
	if !info.Mode().IsRegular() || info.Size() > maxBytes {
		return File{}, fmt.Errorf("%s: want a regular file of at most %d bytes: %w", path, maxBytes, ErrInvalid)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return File{}, fmt.Errorf("read result: %w", err)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := strictjson.DecodeOpen(data, &head); err != nil {
		return File{}, fmt.Errorf("%s: %w: %w", path, err, ErrInvalid)
	}
	if head.Schema != Schema {
		return File{}, fmt.Errorf("%s: schema %q: want %q, so run it again: %w", path, head.Schema, Schema, ErrInvalid)
	}
	var f File
	if err := strictjson.DecodeOpen(data, &f); err != nil {
		return File{}, fmt.Errorf("%s: %w: %w", path, err, ErrInvalid)
	}
	return f, nil
}

// Write replaces the result at a path: a reader sees the old file or the new one.
func Write(path string, f File) error {
	data, err := json.Marshal(f, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return atomicfile.Write(path, append(data, '\n'))
}

// Warn adds a warning, once.
func (r *Run) Warn(text string) {
	if !slices.Contains(r.Warnings, text) {
		r.Warnings = append(r.Warnings, text)
	}
}
