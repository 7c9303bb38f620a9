//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package journal

import "os"

// lockFile does nothing where there is no flock: that only one process uses the file is
// left to whoever starts it.
func lockFile(*os.File) error { return nil }
