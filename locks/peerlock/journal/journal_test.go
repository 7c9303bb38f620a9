package journal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"locklab/internal/testfile"
	"locklab/locks/peerlock/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// book is a journal's user: it counts up numbers and remembers the latest.
type book struct {
	path   string
	begun  int // batches
	stored chan struct{}
	failed chan error

	mu     sync.Mutex
	latest string
}

func newBook(t *testing.T) *book {
	t.Helper()
	return &book{path: filepath.Join(t.TempDir(), "state"), stored: make(chan struct{}, 1000), failed: make(chan error, 1)}
}

func (b *book) config() journal.Config {
	return journal.Config{
		Path: b.path, Owner: "me",
		Dump: func(record func([]byte)) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.latest != "" {
				record([]byte(b.latest))
			}
		},
		Begin:  func() { b.begun++ },
		Stored: func() { b.stored <- struct{}{} },
		Failed: func(err error) { b.failed <- err },
	}
}

func (b *book) append(j *journal.Journal, record string) {
	b.mu.Lock()
	b.latest = record
	b.mu.Unlock()
	j.Append([]byte(record))
}

// read opens the file, closes it and says what was in it.
func (b *book) read(cfg journal.Config) (records []string, err error) {
	j, err := journal.Open(cfg, func(r []byte) error {
		records = append(records, string(r))
		return nil
	})
	if err == nil {
		j.Close()
	}
	return records, err
}

func (b *book) write(t *testing.T, records ...string) []byte {
	t.Helper()
	j, err := journal.Create(b.config())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		b.append(j, r)
		<-b.stored
	}
	j.Close()
	return testfile.Read(t, b.path)
}

func TestRecordsComeBack(t *testing.T) {
	b := newBook(t)
	b.write(t, "a", "", "c")
	j, err := journal.Open(b.config(), func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	b.append(j, "d") // goes on where it ended
	j.Close()
	got, err := b.read(b.config())
	if want := []string{"a", "", "c", "d"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("want %q, got %q, %v", want, got, err)
	}
}

// TestTornEnd cuts a file off everywhere, and flips each byte of it. All but the last
// frame must be there, or an error that names the file.
func TestTornEnd(t *testing.T) {
	b := newBook(t)
	file := b.write(t, "first", "second")
	const head = 12
	end := len(file) - len("second") - 1 - head // where the last frame begins
	for n := range len(file) {
		testfile.Write(t, b.path, file[:n])
		got, err := b.read(b.config())
		switch {
		case n < end-len("first")-1-head: // within the first frame, which is never torn
			if !errors.Is(err, journal.ErrCorrupt) || !strings.Contains(err.Error(), b.path) {
				t.Errorf("%d bytes: want ErrCorrupt with the file's name, got %q, %v", n, got, err)
			}
		case err != nil || (n >= end && !slices.Equal(got, []string{"first"})) || (n < end && len(got) != 0):
			t.Errorf("%d of %d bytes: got %q, %v", n, len(file), got, err)
		}
	}
	for n := range file {
		bad := slices.Clone(file)
		bad[n] ^= 0x10
		testfile.Write(t, b.path, bad)
		got, err := b.read(b.config())
		if err != nil {
			if !errors.Is(err, journal.ErrCorrupt) || !strings.Contains(err.Error(), b.path) {
				t.Errorf("byte %d: want ErrCorrupt with the file's name, got %v", n, err)
			}
			continue
		}
		if n < end+8 || !slices.Equal(got, []string{"first"}) {
			t.Errorf("byte %d of %d is wrong, and what was read is %q", n, len(file), got)
		}
	}
}

// TestTornBegin has frames of which the first sector never came to the disk, though later
// ones did. Only the last may be dropped: what another frame follows had been stored.
func TestTornBegin(t *testing.T) {
	const sector, head = 512, 12
	for _, before := range []int{0, 1, 5, 11, 12, 300} { // bytes from the begin of the frame to the next sector
		b := newBook(t)
		fill := len(newBook(t).write(t, strings.Repeat("a", 200))) - 200 // all but the record, whose length takes two bytes
		first := strings.Repeat("a", 2*sector-before-fill)
		long := strings.Repeat("b", 5000)
		file := b.write(t, first, long, "c")
		begin := 2*sector - before
		lost := begin + before
		if before == 0 {
			lost += sector
		}
		clear(file[begin:lost])
		last := len(file) - len("c") - 1 - head
		for _, tt := range []struct {
			what string
			file []byte
			torn bool
		}{{"last", file[:last], true}, {"not last", file, false}} {
			testfile.Write(t, b.path, tt.file)
			got, err := b.read(b.config())
			switch {
			case tt.torn && (err != nil || !slices.Equal(got, []string{first})):
				t.Errorf("%d bytes before a sector, %s: want it dropped, got %d records, %v", before, tt.what, len(got), err)
			case !tt.torn && !errors.Is(err, journal.ErrCorrupt):
				t.Errorf("%d bytes before a sector, %s: want ErrCorrupt, got %d records, %v", before, tt.what, len(got), err)
			}
		}
	}
}

func TestMissingAndOthersFiles(t *testing.T) {
	b := newBook(t)
	if _, err := b.read(b.config()); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), b.path) {
		t.Errorf("want ErrNotExist with the file's name, got %v", err)
	}
	b.write(t, "a")
	cfg := b.config()
	cfg.Owner = "you"
	if _, err := b.read(cfg); !errors.Is(err, journal.ErrCorrupt) || !strings.Contains(err.Error(), b.path) {
		t.Errorf("want ErrCorrupt with the file's name, got %v", err)
	}
	cfg.Path = filepath.Join(b.path, "below a file")
	if _, err := journal.Create(cfg); err == nil {
		t.Error("created below a file")
	}
}

// TestGrowsNoFurther appends far more than a file may have.
func TestGrowsNoFurther(t *testing.T) {
	b := newBook(t)
	j, err := journal.Create(b.config())
	if err != nil {
		t.Fatal(err)
	}
	const records, bytes = 100, 50_000
	for i := range records {
		b.append(j, fmt.Sprint(i, strings.Repeat(" ", bytes)))
		<-b.stored
	}
	j.Close()
	info, err := os.Stat(b.path)
	if err != nil || info.Size() > 1<<20+2*bytes {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
	got, err := b.read(b.config())
	if err != nil || len(got) == 0 || !strings.HasPrefix(got[len(got)-1], fmt.Sprint(records-1)) {
		t.Errorf("the last record is gone: %d records, %v", len(got), err)
	}
}

// TestOneSyncForMany checks that what comes while the disk works is stored together.
func TestOneSyncForMany(t *testing.T) {
	b := newBook(t)
	cfg := b.config()
	syncs, entered, leave := 0, make(chan struct{}, 10), make(chan struct{})
	cfg.Sync = func(f *os.File) error {
		if syncs++; syncs > 1 { // not that of Create
			entered <- struct{}{}
			<-leave
		}
		return f.Sync()
	}
	j, err := journal.Create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.append(j, "alone")
	<-entered
	for i := range 100 {
		b.append(j, fmt.Sprint(i))
	}
	if len(b.stored) > 0 {
		t.Error("stored before it was synced")
	}
	close(leave)
	j.Close()
	if syncs > 3 {
		t.Errorf("%d records that came together took %d syncs", 100, syncs-2)
	}
	if got, err := b.read(b.config()); err != nil || len(got) != 101 {
		t.Errorf("%d records, %v", len(got), err)
	}
}

func TestDiskThatFails(t *testing.T) {
	b := newBook(t)
	cfg := b.config()
	broken := errors.New("broken")
	syncs := 0
	cfg.Sync = func(f *os.File) error {
		if syncs++; syncs > 1 {
			return broken
		}
		return f.Sync()
	}
	j, err := journal.Create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.append(j, "a")
	if err := <-b.failed; !errors.Is(err, broken) || !strings.Contains(err.Error(), b.path) {
		t.Errorf("want the disk's error with the file's name, got %v", err)
	}
	j.Close()
	if len(b.stored) > 0 {
		t.Error("stored though the disk failed")
	}
}
