package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"

	"locklab/internal/filelock"
	"locklab/internal/signals"
)

var (
	// ErrCorrupt says that a file is not a journal of this owner, or is damaged.
	ErrCorrupt = errors.New("journal: corrupt")
	// ErrInUse says that another process, or another part of this one, uses the file.
	ErrInUse = errors.New("journal: in use by another process")
)

const (
	magic     = "locklab journal 2\n" // the name of the first record; its value is the owner
	headBytes = 12                    // length of the record, checksum of these four bytes, checksum of the record
)

// Config configures a [Journal].
type Config struct {
	Path  string
	Owner string               // a file of another owner is refused
	Sync  func(*os.File) error // nil is (*os.File).Sync
	// Stored is called from the journal's own goroutine when a batch is on disk.
	Stored func(batch uint64)
	// Failed is called once from the same goroutine, when a write or a sync has failed.
	Failed func(error)
}

// Journal is an open file. Its methods may be called by many goroutines.
type Journal struct {
	cfg  Config
	file *os.File

	mu     sync.Mutex
	batch  []byte // the next batch
	number uint64 // its number, from 1 on
	closed bool
	work   chan struct{} // of capacity 1
	done   chan struct{} // closed when the goroutine has ended
}

// Lock keeps others from using the journal at path, even before it exists, until unlock is called.
// It locks an empty file beside the journal, because a rewritten journal is a new file. The empty file
// is never removed: otherwise two processes could each lock one.
func Lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.Exclusive(f); err != nil {
		if errors.Is(err, filelock.ErrInUse) {
			err = ErrInUse
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return func() { _ = f.Close() }, nil // closing unlocks
}

// Read returns the latest value of each name in the file. Its errors name the file, and wrap
// fs.ErrNotExist if the file is missing, [ErrCorrupt] if it is damaged.
func Read(path, owner string) (values map[string][]byte, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if values, err = decode(b, owner); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return values, nil
}

// Create replaces the file by one with these values.
func Create(cfg Config, values map[string][]byte) (*Journal, error) {
	if cfg.Sync == nil {
		cfg.Sync = (*os.File).Sync
	}
	j := &Journal{cfg: cfg, number: 1, work: make(chan struct{}, 1), done: make(chan struct{})}
	if err := j.create(values); err != nil {
		return nil, fmt.Errorf("create %s: %w", cfg.Path, err)
	}
	go j.run()
	return j, nil
}

func (j *Journal) create(values map[string][]byte) (err error) {
	next := j.cfg.Path + ".new"
	if j.file, err = os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, j.file.Close(), os.Remove(next))
		}
	}()
	b := appendRecord(nil, magic, []byte(j.cfg.Owner))
	for name, value := range values {
		b = appendRecord(b, name, value)
	}
	if err := j.write(b); err != nil {
		return err
	}
	if err := os.Rename(next, j.cfg.Path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(j.cfg.Path)) // synced, so that the name survives a power failure
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (j *Journal) write(b []byte) error {
	if _, err := j.file.Write(b); err != nil {
		return err
	}
	return j.cfg.Sync(j.file)
}

// Append adds the new value of a name, and returns the number of its batch without waiting for the disk.
func (j *Journal) Append(name string, value []byte) (batch uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.batch = appendRecord(j.batch, name, value)
	if !j.closed {
		signals.Wake(j.work)
	}
	return j.number
}

// Close stores the appended values and closes the file.
func (j *Journal) Close() {
	j.mu.Lock()
	if !j.closed {
		j.closed = true
		close(j.work)
	}
	j.mu.Unlock()
	<-j.done
}

// run stores batch after batch.
func (j *Journal) run() {
	defer close(j.done)
	defer func() { _ = j.file.Close() }() // every stored batch has been synced
	for range j.work {
		j.mu.Lock()
		batch, number := j.batch, j.number
		j.batch = nil
		j.number++
		j.mu.Unlock()
		if err := j.write(batch); err != nil {
			j.cfg.Failed(fmt.Errorf("store in %s: %w", j.cfg.Path, err))
			return
		}
		j.cfg.Stored(number)
	}
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// appendRecord appends a head and its record: the length of the name, the name and the value.
func appendRecord(b []byte, name string, value []byte) []byte {
	record := append(append(binary.AppendUvarint(nil, uint64(len(name))), name...), value...)
	size := binary.LittleEndian.AppendUint32(nil, uint32(len(record))) //nolint:gosec // far below 4 GiB
	b = binary.LittleEndian.AppendUint32(append(b, size...), checksum(size))
	return append(binary.LittleEndian.AppendUint32(b, checksum(record)), record...)
}

// cut splits the first record off b. It returns an empty name if b ends within the record.
func cut(b []byte) (name string, value, rest []byte, err error) {
	if len(b) < headBytes {
		return "", nil, nil, nil
	}
	head, b := b[:headBytes], b[headBytes:]
	size := uint64(binary.LittleEndian.Uint32(head))
	switch {
	case binary.LittleEndian.Uint32(head[4:]) != checksum(head[:4]):
		return "", nil, nil, fmt.Errorf("the checksum of a record's length is wrong: %w", ErrCorrupt)
	case size > uint64(len(b)):
		return "", nil, nil, nil
	case binary.LittleEndian.Uint32(head[8:]) != checksum(b[:size]):
		return "", nil, nil, fmt.Errorf("the checksum of a record is wrong: %w", ErrCorrupt)
	}
	record, rest := b[:size:size], b[size:]
	length, n := binary.Uvarint(record)
	if n <= 0 || length > size-uint64(n) {
		return "", nil, nil, fmt.Errorf("a name is longer than its record: %w", ErrCorrupt)
	}
	value = record[uint64(n)+length:]
	return string(record[n : len(record)-len(value)]), value, rest, nil
}

// decode reads a whole file.
func decode(b []byte, owner string) (map[string][]byte, error) {
	name, value, rest, err := cut(b)
	switch {
	case err != nil:
		return nil, err
	case name != magic:
		return nil, fmt.Errorf("it does not begin with the first record of a journal: %w", ErrCorrupt)
	case string(value) != owner:
		return nil, fmt.Errorf("it belongs to %s, not to %s: %w", value, owner, ErrCorrupt)
	}
	values := map[string][]byte{}
	for len(rest) > 0 {
		at := len(b) - len(rest)
		if name, value, rest, err = cut(rest); err != nil {
			return nil, fmt.Errorf("at byte %d of %d: %w", at, len(b), err)
		}
		if value != nil {
			values[name] = value
		}
	}
	return values, nil
}
