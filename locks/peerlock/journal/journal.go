package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"locklab/internal/signals"
)

// compactLeast is the size from which on a file may be written anew, in bytes.
const compactLeast = 1 << 20

// Config is what a [Journal] is made of.
type Config struct {
	Path  string
	Owner string // a file of another owner is refused
	// Dump gives each record that still counts to its argument. It is called from the
	// journal's own goroutine and may call nothing of the journal. What is appended
	// meanwhile comes after what it gives.
	Dump func(record func([]byte))
	Sync func(*os.File) error // nil: its method
	// Begin is called from the journal's own goroutine before it takes what is to be stored
	// next: all that was appended before.
	Begin func()
	// Stored is called, likewise, when that is on disk.
	Stored func()
	// Failed is called once, likewise, if nothing can be stored any more.
	Failed func(error)
}

func (c Config) withDefaults() Config {
	if c.Sync == nil {
		c.Sync = (*os.File).Sync
	}
	return c
}

// Journal is an open file. Its methods may be called by many goroutines.
type Journal struct {
	cfg   Config
	file  *os.File
	size  int64 // of the file
	dense int64 // size after it was written anew

	mu     sync.Mutex
	batch  []byte // the next frame, with room for its head
	closed bool
	work   chan struct{} // of one place
	done   chan struct{} // closed when the goroutine has ended
}

// Open reads the file and gives its records, in order, to record; later ones replace
// earlier ones. Its errors name the file: one wraps fs.ErrNotExist if there is none,
// others [ErrCorrupt].
func Open(cfg Config, record func([]byte) error) (*Journal, error) {
	cfg = cfg.withDefaults()
	b, err := os.ReadFile(cfg.Path)
	if err != nil {
		return nil, err
	}
	length, err := decode(b, cfg.Owner, record)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", cfg.Path, err)
	}
	file, err := os.OpenFile(cfg.Path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if length < len(b) { // torn: what comes next must not follow it
		if err := errors.Join(file.Truncate(int64(length)), file.Sync()); err != nil {
			return nil, errors.Join(fmt.Errorf("cut the torn end off %s: %w", cfg.Path, err), file.Close())
		}
	}
	if _, err := file.Seek(int64(length), 0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return start(cfg, file, int64(length)), nil
}

// Create makes a new file, with what Dump gives in it.
func Create(cfg Config) (*Journal, error) {
	cfg = cfg.withDefaults()
	j := &Journal{cfg: cfg}
	if err := j.rewrite(nil); err != nil {
		return nil, fmt.Errorf("create %s: %w", cfg.Path, err)
	}
	return start(cfg, j.file, j.size), nil
}

func start(cfg Config, file *os.File, size int64) *Journal {
	j := &Journal{
		cfg: cfg, file: file, size: size, dense: size, batch: make([]byte, headBytes),
		work: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go j.run()
	return j
}

// Append takes a record. It does not wait until it is on disk.
func (j *Journal) Append(record []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.batch = appendRecord(j.batch, record)
	if !j.closed {
		signals.Wake(j.work)
	}
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
		j.cfg.Begin()
		j.mu.Lock()
		frame := j.batch
		j.batch = append(spare[:0], make([]byte, headBytes)...)
		j.mu.Unlock()
		if len(frame) > headBytes {
			if err := j.write(seal(frame)); err != nil {
				j.cfg.Failed(fmt.Errorf("store in %s: %w", j.cfg.Path, err))
				return
			}
		}
		j.cfg.Stored()
		spare = frame
	}
}

// write puts a frame at the end of the file or, if it has grown, into a new one.
func (j *Journal) write(frame []byte) error {
	if j.size > max(compactLeast, 4*j.dense) {
		return j.rewrite(frame)
	}
	if _, err := j.file.Write(frame); err != nil {
		return err
	}
	j.size += int64(len(frame))
	return j.cfg.Sync(j.file)
}

// rewrite makes a new file of what still counts, then the frame, which is newer, and puts
// it in the place of the old one.
func (j *Journal) rewrite(frame []byte) (err error) {
	next := j.cfg.Path + ".new"
	file, err := os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close(), os.Remove(next))
		}
	}()
	out := header(j.cfg.Owner)
	dump := make([]byte, headBytes)
	j.cfg.Dump(func(record []byte) { dump = appendRecord(dump, record) })
	if len(dump) > headBytes {
		out = append(out, seal(dump)...)
	}
	out = append(out, frame...)
	if _, err := file.Write(out); err != nil {
		return err
	}
	if err := j.cfg.Sync(file); err != nil {
		return err
	}
	if err := os.Rename(next, j.cfg.Path); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(j.cfg.Path)); err != nil {
		return err
	}
	if j.file != nil {
		_ = j.file.Close() // it has no name any more
	}
	j.file, j.size, j.dense = file, int64(len(out)), int64(len(out))
	return nil
}

// syncDir makes the names in the folder outlive a power cut.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
