package result

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	if err := json.Unmarshal(data, &f); err != nil {
		return File{}, describe(err, data)
	}
	if err := f.validate(); err != nil {
		return File{}, err
	}
	return f, nil
}

// describe turns an error of the decoder into one for the user of the file.
func describe(err error, data []byte) error {
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		have := "a value of the wrong type"
		if name, known := kindNames[e.JSONKind]; known {
			have = name
		}
		want := "another type"
		if e.GoType != nil {
			want = "a value for " + e.GoType.String()
		}
		return fmt.Errorf("line %d: field %s: have %s, want %s: %w",
			lineAt(data, e.ByteOffset), fieldName(e.JSONPointer), have, want, ErrInvalid)
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("line %d: field %s: %w: %w",
			lineAt(data, e.ByteOffset), fieldName(e.JSONPointer), e.Err, ErrInvalid)
	}
	return fmt.Errorf("%w: %w", err, ErrInvalid)
}

//nolint:gochecknoglobals // a constant table
var kindNames = map[jsontext.Kind]string{
	'n': "null", 'f': "false", 't': "true", '"': "a string", '0': "a number", '{': "an object", '[': "a list",
}

func lineAt(data []byte, offset int64) int {
	offset = min(max(offset, 0), int64(len(data)))
	return 1 + strings.Count(string(data[:offset]), "\n")
}

// fieldName writes a JSON pointer as users would: /results/3/lock is
// results[3].lock.
func fieldName(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch _, err := strconv.Atoi(token); {
		case err == nil:
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	if b.Len() == 0 {
		return "(the whole file)"
	}
	return b.String()
}
