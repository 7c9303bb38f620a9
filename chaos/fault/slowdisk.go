package fault

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Disk is what is wrong with a node's disk; nothing is the zero value.
type Disk struct {
	Delay time.Duration // that each sync takes longer
	Full  bool          // nothing can be written
}

// SlowDisk delays what makes data safe. Syncs that wait go on when it is healed.
func (kinds) SlowDisk() Kind {
	return Kind{
		Name:    "slow-disk",
		Summary: "each fsync of processes takes longer, as on a disk that fails or that others use",
		Fields:  []Field{hits("one:raft"), {"delay", "200ms", "how much longer: at least 1ms", true}},
		read: func(f fields) Fault {
			f.need("delay")
			return onDisks(f.target(), Disk{Delay: f.duration("delay", leastShift)})
		},
	}
}

// onDisks is a fault of the disks of what the target means, but for who keeps nothing on one.
func onDisks(target selector, disk Disk) Fault {
	fault := onNodes(target, nil, func(ctx context.Context, _ string, sc scene) (p Plan, err error) {
		found, err := sc.nodes(ctx, target)
		p.Disks = sc.onDisk(found)
		if err == nil && len(p.Disks) == 0 {
			err = fmt.Errorf("nothing is kept on a disk by %s: %w", strings.Join(found, ", "), ErrNoTarget)
		}
		p.Disk = disk
		return p, err
	})
	fault.Prepared = true
	return fault
}
