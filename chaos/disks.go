package chaos

import (
	"context"
	"fmt"
	"slices"
)

// disksAreHit says which disk is not wrong as the fault has it, or has not been used since: what
// nobody uses may be slow, and nobody would know.
func (e *episode) disksAreHit(ctx context.Context) error {
	return e.eachDisk(ctx, func(node string, s DiskSeen) error {
		if s.Hit == 0 {
			return fmt.Errorf("node %s has used its disk for nothing that the fault would hit", node)
		}
		return nil
	})
}

// disksWereHit says which disk the fault has not shown itself on, from its beginning on.
func (e *episode) disksWereHit(ctx context.Context) error {
	return e.eachDisk(ctx, func(node string, s DiskSeen) error {
		if s.Done == 0 || s.Least < s.Delay {
			if e.plan.Disk.Full {
				return fmt.Errorf("no write of node %s was refused yet", node)
			}
			return fmt.Errorf("no fsync of node %s has taken %v yet", node, e.plan.Disk.Delay)
		}
		return nil
	})
}

func (e *episode) eachDisk(ctx context.Context, wrong func(node string, s DiskSeen) error) error {
	return each(e.plan.Disks, func(node string) error {
		seen, err := e.config.Nodes.Disk(ctx, node)
		switch {
		case err != nil:
			return wrap("look at the disk of", node, err)
		case seen.Disk != e.plan.Disk:
			return fmt.Errorf("the disk of node %s is not as the fault left it: somebody else has set it", node)
		default:
			return wrong(node, seen)
		}
	})
}

// restarted are the nodes that are started again when the fault is over: who could not write may
// be about to end, seconds later even, or has ended, and what it had promised must be on disk.
func (e *episode) restarted() []string {
	if e.plan.Disk.Full {
		return slices.Concat(e.plan.Kill, e.plan.Disks)
	}
	return e.plan.Kill
}
