package fault

import (
	"context"
	"slices"
)

// Power is how the power of nodes is cut.
type Power struct {
	Torn   bool // the file that was written to last keeps what was written, up to the middle of the last write
	Strict bool // only the sync of a directory makes names in it durable, not that of a new file
}

// PowerLoss ends processes with SIGKILL and takes what they had not synced from their disks. They are started again
// when it is healed.
func (kinds) PowerLoss() Kind {
	return Kind{
		Name: "power-loss",
		Summary: "processes die at once, and their disks forget what was not synced, bytes and names; they start again " +
			"when the fault ends",
		Fields: []Field{
			hits("majority:server"),
			{
				"torn", "on", "with on, the file that was written to last keeps what was not synced, up to the middle of its " +
					"last write", false,
			},
			{
				"names", "strict", "with strict, only the sync of a directory makes names in it durable, as POSIX has it; else " +
					"that of a new file does, too, as in the file systems of Linux", false,
			},
		},
		read: func(f fields) Fault {
			target, power := f.target(), Power{f.only("torn", "on"), f.only("names", "strict")}
			fault := onNodes(target, nil, func(ctx context.Context, _ string, sc scene) (p Plan, err error) {
				p.Kill, err = sc.nodes(ctx, target)
				p.Cut, p.Power = sc.onDisk(p.Kill), power
				return p, err
			})
			fault.Prepared = true
			return fault
		},
	}
}

// only reads a field that has the one value, or is not there.
func (f fields) only(name, value string) bool {
	return f.Get(name).Given() && f.Get(name).OneOf(value) != ""
}

// onDisk are those of the nodes that keep something on a disk.
func (inv Inventory) onDisk(nodes []string) []string {
	diskless := inv.ofRoles(nodes, inv.Diskless)
	return slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return slices.Contains(diskless, node) })
}
