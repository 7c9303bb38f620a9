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

// TestLocks: one exclusive lock or several shared ones, until the file is closed; others may
// read the file meanwhile.
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
	owner, other, third := open(), open(), open()
	must.Do(t, filelock.Exclusive(owner))
	if text, err := io.ReadAll(other); string(text) != "text" || err != nil {
		t.Errorf("another handle read %q, %v", text, err)
	}
	for name, lock := range map[string]func(*os.File) error{"exclusive": filelock.Exclusive, "shared": filelock.Shared} {
		if err := lock(other); !errors.Is(err, filelock.ErrInUse) {
			t.Errorf("%s beside an exclusive lock: %v", name, err)
		}
	}
	must.Do(t, owner.Close())
	must.Do(t, filelock.Shared(other))
	must.Do(t, filelock.Shared(third))
	if err := filelock.Exclusive(open()); !errors.Is(err, filelock.ErrInUse) {
		t.Errorf("exclusive beside shared locks: %v", err)
	}
}
