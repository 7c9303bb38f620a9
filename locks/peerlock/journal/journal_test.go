package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/internal/testfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// book is a journal's user.
type book struct {
	Config
	stored chan uint64
	failed chan error
}

func newBook(t *testing.T) *book {
	t.Helper()
	b := &book{stored: make(chan uint64, 1000), failed: make(chan error, 1)}
	b.Config = Config{
		Path: filepath.Join(t.TempDir(), "state"), Owner: "me",
		Stored: func(batch uint64) { b.stored <- batch }, Failed: func(err error) { b.failed <- err },
	}
	return b
}

func (b *book) create(t *testing.T, values map[string][]byte) *Journal {
	t.Helper()
	j, err := Create(b.Config, values)
	must.Do(t, err)
	return j
}

func TestValuesComeBack(t *testing.T) {
	b := newBook(t)
	b.create(t, map[string][]byte{"gone": nil}).Close()
	j := b.create(t, map[string][]byte{"a": []byte("old"), "": []byte("no name")}) // in the place of the first
	for _, name := range []string{"c", "a"} {
		if batch := j.Append(name, []byte("new")); batch != <-b.stored {
			t.Errorf("%q is in batch %d, and another one was stored", name, batch)
		}
	}
	j.Append("e", nil)
	j.Close()
	got, err := Read(b.Path, "me")
	if want := "map[:no name a:new c:new e:]"; err != nil || fmt.Sprintf("%s", got) != want {
		t.Errorf("want %s, got %s, %v", want, got, err)
	}
	if _, err := Read(b.Path, "you"); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), b.Path) {
		t.Errorf("want ErrCorrupt with the file's name, got %v", err)
	}
	b.Path += " is elsewhere"
	if _, err := Read(b.Path, "me"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), b.Path) {
		t.Errorf("want ErrNotExist with the file's name, got %v", err)
	}
	b.Path = filepath.Join(b.Path, "below nothing")
	if _, err := Create(b.Config, nil); err == nil {
		t.Error("created in a folder that is not there")
	}
}

// TestTornEnd cuts a file off everywhere, and flips each byte of it. All but the last
// record must be there, or an error that names the file.
func TestTornEnd(t *testing.T) {
	b := newBook(t)
	j := b.create(t, map[string][]byte{"first": nil})
	j.Append("second", nil)
	j.Close()
	file := testfile.Read(t, b.Path)
	begin := len(appendRecord(nil, magic, []byte("me")))
	end := len(file) - len(appendRecord(nil, "second", nil)) // where the last record begins
	for n := range len(file) {
		testfile.Write(t, b.Path, file[:n])
		got, err := Read(b.Path, "me")
		_, first := got["first"]
		switch {
		case n < begin: // within the record of the owner, which is never torn
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), b.Path) {
				t.Errorf("%d bytes: want ErrCorrupt with the file's name, got %q, %v", n, got, err)
			}
		case err != nil || len(got) > 1 || first != (n >= end):
			t.Errorf("%d of %d bytes: got %q, %v", n, len(file), got, err)
		}
		bad := slices.Clone(file)
		bad[n] ^= 0x10
		testfile.Write(t, b.Path, bad)
		if got, err := Read(b.Path, "me"); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), b.Path) {
			t.Errorf("byte %d is wrong: want ErrCorrupt with the file's name, got %q, %v", n, got, err)
		}
	}
}

// TestOneSyncForMany checks that what comes while the disk works is stored together.
func TestOneSyncForMany(t *testing.T) {
	b := newBook(t)
	syncs, entered, leave := 0, make(chan struct{}, 10), make(chan struct{})
	b.Sync = func(f *os.File) error {
		if syncs++; syncs > 1 { // not that of Create
			entered <- struct{}{}
			<-leave
		}
		return f.Sync()
	}
	j := b.create(t, nil)
	j.Append("alone", nil)
	<-entered
	for i := range 100 {
		j.Append(fmt.Sprint(i), nil)
	}
	if len(b.stored) > 0 {
		t.Error("stored before it was synced")
	}
	close(leave)
	j.Close()
	if syncs > 3 {
		t.Errorf("%d records that came together took %d syncs", 100, syncs-2)
	}
	if got, err := Read(b.Path, "me"); err != nil || len(got) != 101 {
		t.Errorf("%d records, %v", len(got), err)
	}
}

// FuzzDecode reads files of any content: well, or with ErrCorrupt.
func FuzzDecode(f *testing.F) {
	file := appendRecord(appendRecord(nil, magic, []byte("me")), "a", []byte("b"))
	f.Add(file)
	f.Add(append(file, 0, 0, 0))
	f.Add(append(file, 200, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0))
	f.Add(appendRecord(nil, magic, []byte("you")))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := decode(b, "me"); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("want ErrCorrupt, got %v", err)
		}
	})
}
