package mesh

import (
	"runtime"
	"sync/atomic"
)

// crowd knows from the size of the latest writes whether many callers send at once.
type crowd struct {
	flushing atomic.Bool  // somebody is about to flush for all
	left     atomic.Int32 // flushes until the crowd counts as gone
}

const (
	crowdFrames = 4  // with more, more than one caller sends at a time
	crowdLasts  = 64 // lonely flushes that end the crowd
)

// note is told how many frames go out in one write.
func (c *crowd) note(frames int) {
	left := c.left.Load()
	switch {
	case frames > crowdFrames && left != crowdLasts:
		c.left.Store(crowdLasts)
	case frames <= crowdFrames && left > 0:
		c.left.Store(left - 1) // may lose a race, and then ends one flush later
	}
}

// heard is told how many frames came in one read. Many answers at once wake many
// callers, who would otherwise each flush alone, one after the other, on a process
// with one processor, so that the writes never show that they are many.
func (c *crowd) heard(frames int) {
	if frames > crowdFrames && c.left.Load() != crowdLasts {
		c.left.Store(crowdLasts)
	}
}

// FlushTogether is [Mesh.Flush] for callers of whom many may be about to send. While
// many are, as the latest writes show, the first of them lets all goroutines that can
// run go first and then sends for all, which trades a little latency for far fewer
// writes. While few are, it flushes at once. Right before it does, it calls collect,
// which may be nil and must queue whatever a caller has held back until now.
func (m *Mesh) FlushTogether(collect func()) {
	c := &m.crowd
	if c.left.Load() > 0 {
		if c.flushing.Load() || !c.flushing.CompareAndSwap(false, true) {
			return // who is about to flush takes along what was there before this call
		}
		runtime.Gosched()
		c.flushing.Store(false)
	}
	if collect != nil {
		collect()
	}
	m.Flush()
}
