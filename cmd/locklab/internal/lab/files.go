package lab

import (
	"fmt"
	"syscall"
)

// What the agents of this process keep open, by measurement of whole comparisons and
// with room above: the links carry two sockets for every connection of a wire, and more
// of them while a fault holds their bytes.
const (
	filesBase = 128
	filesWire = 64
)

// CheckFiles sees that this process may open as many files as a run needs. Without
// them agents and links stop accepting connections and the run hangs. Call it when it is
// known which hosts are local. The Go runtime has raised the limit as far as it may.
func (c *Config) CheckFiles() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	return c.checkFiles(limit.Cur)
}

func (c *Config) checkFiles(have uint64) error {
	most := 0
	for _, spec := range c.Locks {
		p, err := newPlan(c, spec, "", 0)
		if err != nil {
			return err
		}
		wires := 0
		for _, w := range p.wires {
			if h, _ := p.topo.Host(w.from.Host); h.Agent == "" {
				wires++
			}
		}
		most = max(most, wires)
	}
	if need := uint64(filesBase + filesWire*most); have < need { //nolint:gosec // not negative
		return fmt.Errorf("--topology %s: a process may open %d files here, and the lab needs up to %d for its %d links: raise the limit, such as with `ulimit -n %d`",
			c.Topology.Name, have, need, most, need)
	}
	return nil
}
