package lab

import (
	"fmt"

	"locklab/cmd/locklab/internal/masternode"
	"locklab/internal/posix"
)

// What the agents of this process keep open, by measurement of whole comparisons and
// with room above: the links carry two sockets for every connection of a wire, and more
// of them while a fault holds their bytes.
const (
	filesBase = 128
	filesWire = 64
	filesPeer = 16 // peers keep one connection, and try again one at a time
)

// CheckFiles sees that this process may open as many files as a run needs. Without
// them agents and links stop accepting connections and the run hangs. Call it when it is
// known which hosts are local. The Go runtime has raised the limit as far as it may.
func (c *Config) CheckFiles() error {
	most, err := posix.OpenFilesMax()
	if err != nil {
		return err
	}
	return c.checkFiles(most)
}

func (c *Config) checkFiles(have uint64) error {
	most := 0
	for _, lock := range c.Locks {
		p := newPlan(c, lock, "", 0)
		files := filesBase
		for _, w := range p.wires {
			h, _ := p.topo.Host(w.from.Host)
			switch {
			case h.Agent != "":
			case w.port == masternode.PortPeer:
				files += filesPeer
			default:
				files += filesWire
			}
		}
		most = max(most, files)
	}
	if need := uint64(most); have < need { //nolint:gosec // not negative
		return fmt.Errorf("--topology %s: a process may open %d files here, and the lab needs up to %d for its links: raise the limit, such as with `ulimit -n %d`",
			c.Topology.Name, have, need, need)
	}
	return nil
}
