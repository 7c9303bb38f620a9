// Package testfile reads and writes the files of tests, which end where that fails.
package testfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/internal/must"
)

// Read is what a file has.
func Read(tb testing.TB, path string) []byte {
	tb.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // the test's own
	must.Do(tb, err)
	return text
}

// Write makes a file, and its folder where that is missing.
func Write[T ~string | ~[]byte](tb testing.TB, path string, text T) {
	tb.Helper()
	must.Do(tb, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Do(tb, os.WriteFile(path, []byte(text), 0o600))
}

// Golden compares what a file has with what it should have. With REWRITE=1 in the environment it writes that.
func Golden(tb testing.TB, path, got string) {
	tb.Helper()
	if os.Getenv("REWRITE") != "" {
		Write(tb, path, got)
	} else if diff := cmp.Diff(string(Read(tb, path)), got); diff != "" {
		tb.Errorf("-%s +what the code makes (REWRITE=1 go test writes it):\n%s", path, diff)
	}
}
