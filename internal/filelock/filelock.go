// Package filelock locks files for as long as they are open. The system frees a lock when
// the process ends, however it ends.
package filelock

import "errors"

// ErrInUse says that another process, or another handle of this one, has the lock.
var ErrInUse = errors.New("the file is locked by another process")
