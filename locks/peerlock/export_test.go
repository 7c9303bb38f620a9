package peerlock

import "os"

// SetSync has the state file synced by f.
func SetSync[O any](cfg *Config[O], f func(*os.File) error) { cfg.sync = f }
