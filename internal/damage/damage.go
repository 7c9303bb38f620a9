// Package damage is what faults make of a node's disk: the chaos runner orders it, and the node's agent does it.
package damage

import "time"

// Disk is what is wrong with a disk; nothing is the zero value.
type Disk struct {
	Delay time.Duration `json:"delay_ns,omitzero,format:nano"` // that each sync takes longer
	Full  bool          `json:"full,omitzero"`                 // nothing can be written
}

// Seen is what is wrong with a disk, and what that has done since it was set.
type Seen struct {
	Disk
	// Hit are the calls that it met, and Done those of them that were held for the whole
	// delay, or refused, and waited for it: a caller that was killed, or got a signal, did not. Calls
	// that were met when the fault ended are not done.
	Hit  uint64 `json:"hit"`
	Done uint64 `json:"done"`
	// Least is the shortest time from such a call to its answer.
	Least time.Duration `json:"least_ns,format:nano"`
}

// Power is how the power of a disk is cut.
type Power struct {
	// Torn: the file that was written to last keeps what was written, up to the middle of the last write.
	Torn bool `json:"torn,omitzero"`
	// Strict: only the sync of a directory makes names in it durable, not that of a new file.
	Strict bool `json:"strict,omitzero"`
}
