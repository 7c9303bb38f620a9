package journal

import (
	"errors"
	"fmt"
	"os"

	"locklab/internal/filelock"
)

// ErrInUse says that another process, or another part of this one, uses the file.
var ErrInUse = errors.New("journal: in use by another process")

// Lock keeps all others from using the journal at path, also before it is made, until
// what it returns is called. It locks a file beside it, as a journal that is written anew
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
