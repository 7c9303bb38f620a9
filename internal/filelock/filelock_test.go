package filelock_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"locklab/internal/filelock"
	"locklab/internal/must"
)

// TestLocks: one lock, until the file is closed; others may read the file meanwhile.
func TestLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(path, []byte("text"), 0o600))
	open := func() *os.File {
		t.Helper()
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		must.Do(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	owner, other := open(), open()
	must.Do(t, filelock.Exclusive(owner))
	if text, err := io.ReadAll(other); string(text) != "text" || err != nil {
		t.Errorf("another handle read %q, %v", text, err)
	}
	if err := filelock.Exclusive(other); !errors.Is(err, filelock.ErrInUse) {
		t.Errorf("beside another lock: %v", err)
	}
	must.Do(t, owner.Close())
	must.Do(t, filelock.Exclusive(other))
}
