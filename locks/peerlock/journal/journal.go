package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"locklab/internal/filelock"
	"locklab/internal/signals"
)

var (
	// ErrCorrupt says that a file is no journal, or a damaged one.
	ErrCorrupt = errors.New("journal: corrupt")
	// ErrInUse says that another process, or another part of this one, uses the file.
	ErrInUse = errors.New("journal: in use by another process")
)

const (
	magic     = "locklab journal 1\n" // begins the body of the first frame; the owner follows
	headBytes = 12                    // length of the body, checksum of these four bytes, checksum of the body
)

// Config is what a [Journal] is made of.
type Config struct {
	Path  string
	Owner string               // a file of another owner is refused
	Sync  func(*os.File) error // nil: its method
	// Stored is called from the journal's own goroutine when a batch is on disk.
	Stored func(batch uint64)
	// Failed is called once, likewise, if nothing can be stored any more.
	Failed func(error)
}

// Journal is an open file. Its methods may be called by many goroutines.
type Journal struct {
	cfg  Config
	file *os.File

	mu     sync.Mutex
	batch  []byte // the next frame, with room for its head
	number uint64 // of that batch, from 1 on
	closed bool
	work   chan struct{} // of one place
	done   chan struct{} // closed when the goroutine has ended
}

// Lock keeps all others from using the journal at path, also before it is made, until
// what it returns is called. It locks a file beside it, as a journal that is made anew
// is another file. That one stays, empty: without it two could lock one each.
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
	return func() { _ = f.Close() }, nil // which unlocks it
}

// Read gives the records of the file, in order; later ones replace earlier ones. Its errors
// name the file: one wraps fs.ErrNotExist if there is none, others [ErrCorrupt].
func Read(path, owner string, record func([]byte) error) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := decode(b, owner, record); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// Create makes the file anew, with the records.
func Create(cfg Config, records [][]byte) (*Journal, error) {
	if cfg.Sync == nil {
		cfg.Sync = (*os.File).Sync
	}
	j := &Journal{
		cfg: cfg, batch: make([]byte, headBytes), number: 1, work: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if err := j.create(records); err != nil {
		return nil, fmt.Errorf("create %s: %w", cfg.Path, err)
	}
	go j.run()
	return j, nil
}

// create puts a new file in the place of an old one.
func (j *Journal) create(records [][]byte) (err error) {
	next := j.cfg.Path + ".new"
	if j.file, err = os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, j.file.Close(), os.Remove(next))
		}
	}()
	body := make([]byte, headBytes)
	for _, r := range records {
		body = appendRecord(body, r)
	}
	if _, err := j.file.Write(append(header(j.cfg.Owner), seal(body)...)); err != nil {
		return err
	}
	if err := j.cfg.Sync(j.file); err != nil {
		return err
	}
	if err := os.Rename(next, j.cfg.Path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(j.cfg.Path)) // so that the name outlives a power cut
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Append takes a record and gives the number of its batch. It does not wait until that is on
// disk.
func (j *Journal) Append(record []byte) (batch uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.batch = appendRecord(j.batch, record)
	if !j.closed {
		signals.Wake(j.work)
	}
	return j.number
}

// Close stores what was appended and closes the file.
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
	defer func() { _ = j.file.Close() }() // all that was promised has been synced
	var spare []byte
	for range j.work {
		j.mu.Lock()
		frame, number := j.batch, j.number
		j.batch = append(spare[:0], make([]byte, headBytes)...)
		j.number++
		j.mu.Unlock()
		_, err := j.file.Write(seal(frame))
		if err == nil {
			err = j.cfg.Sync(j.file)
		}
		if err != nil {
			j.cfg.Failed(fmt.Errorf("store in %s: %w", j.cfg.Path, err))
			return
		}
		j.cfg.Stored(number)
		spare = frame
	}
}

func checksum(body []byte) uint32 { return crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) }

// seal fills in the head of the frame b, whose body is there.
func seal(b []byte) []byte {
	body := b[headBytes:]
	binary.LittleEndian.PutUint32(b, uint32(len(body))) //nolint:gosec // far below 4 GiB
	binary.LittleEndian.PutUint32(b[4:], checksum(b[:4]))
	binary.LittleEndian.PutUint32(b[8:], checksum(body))
	return b
}

// header is the first frame.
func header(owner string) []byte {
	return seal(slices.Concat(make([]byte, headBytes), []byte(magic), []byte(owner)))
}

func appendRecord(b, record []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(record))), record...)
}

// cutFrame splits the first frame off b. It says short if b ends within the frame.
func cutFrame(b []byte) (body, rest []byte, short bool, err error) {
	if len(b) < headBytes {
		return nil, nil, true, nil
	}
	size := uint64(binary.LittleEndian.Uint32(b))
	switch {
	case binary.LittleEndian.Uint32(b[4:]) != checksum(b[:4]):
		return nil, nil, false, fmt.Errorf("what should be the length of a frame is none: %w", ErrCorrupt)
	case uint64(len(b)) < headBytes+size:
		return nil, nil, true, nil
	}
	body, rest = b[headBytes:headBytes+size], b[headBytes+size:]
	if binary.LittleEndian.Uint32(b[8:]) != checksum(body) {
		return nil, nil, false, fmt.Errorf("the checksum of a frame is wrong: %w", ErrCorrupt)
	}
	return body, rest, false, nil
}

// decode reads a whole file: its records, in order.
func decode(b []byte, owner string, record func([]byte) error) error {
	first, rest, short, err := cutFrame(b)
	switch {
	case err != nil:
		return err
	case short || !bytes.HasPrefix(first, []byte(magic)):
		return fmt.Errorf("it does not begin as a journal does: %w", ErrCorrupt)
	case string(first[len(magic):]) != owner:
		return fmt.Errorf("it is that of %s, not of %s: %w", first[len(magic):], owner, ErrCorrupt)
	}
	for len(rest) > 0 {
		at := len(b) - len(rest)
		var body []byte
		if body, rest, _, err = cutFrame(rest); err != nil {
			return fmt.Errorf("at byte %d of %d: %w", at, len(b), err)
		}
		for len(body) > 0 {
			size, n := binary.Uvarint(body)
			if n <= 0 || size > uint64(len(body)-n) {
				return fmt.Errorf("at byte %d of %d: a record is longer than its frame: %w", at, len(b), ErrCorrupt)
			}
			end := n + int(size) //nolint:gosec // it fits into the frame
			if err := record(body[n:end]); err != nil {
				return fmt.Errorf("at byte %d of %d: %w", at, len(b), err)
			}
			body = body[end:]
		}
	}
	return nil
}
