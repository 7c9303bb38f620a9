package chaos

import (
	"context"
	"fmt"
)

// disksAreHit says which disk is not wrong as the fault has it, or has not been used since: what
// nobody uses may be slow, and nobody would know. Once the fault was there for its time, it must also
// have shown itself.
func (e *episode) disksAreHit(ctx context.Context, shown bool) error {
	return each(e.plan.Disks, func(node string) error {
		seen, err := e.config.Nodes[node].Disk(ctx, node)
		switch {
		case err != nil:
			return wrap("look at the disk of", node, err)
		case seen.Disk != e.plan.Disk:
			return fmt.Errorf("the disk of node %s is not as the fault left it: somebody else has set it", node)
		case seen.Hit == 0:
			return fmt.Errorf("node %s has used its disk for nothing that the fault would hit", node)
		case !shown || seen.Done > 0 && seen.Least >= seen.Delay:
			return nil
		case e.plan.Disk.Full:
			return fmt.Errorf("no write of node %s was refused yet", node)
		default:
			return fmt.Errorf("no fsync of node %s has taken %v yet", node, e.plan.Disk.Delay)
		}
	})
}
