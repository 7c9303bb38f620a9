package result

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"locklab/internal/strictjson"
)

// FileName is the name of the result in a run's directory.
const FileName = "result.json"

// maxBytes bounds a result: a row is a few kilobytes.
const maxBytes = 64 << 20

// Read reads and validates a result. Errors name the file and the field, such as
// results[3].verdict.status, and say what would be right. Fields that this
// version does not know are ignored, so that older programs read newer files.
func Read(path string) (File, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, fmt.Errorf("%s: %w: want a directory that locklab run has written", path, fs.ErrNotExist)
	}
	if err != nil {
		return File{}, fmt.Errorf("read result: %w", err)
	}
	// Opening a pipe would wait for a writer.
	if !info.Mode().IsRegular() || info.Size() > maxBytes {
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

// Parse decodes and validates the bytes of a result.
func Parse(data []byte) (File, error) {
	var f File
	if err := strictjson.DecodeOpen(data, &f); err != nil {
		return File{}, fmt.Errorf("%w: %w", err, ErrInvalid)
	}
	if err := f.validate(); err != nil {
		return File{}, err
	}
	return f, nil
}
