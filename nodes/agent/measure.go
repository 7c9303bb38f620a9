package agent

import (
	"slices"

	"locklab/nodes/hostload"
)

// measure records what the machine does, as long as there are nodes, be they dead: a run
// in which they were killed wants to know it, too.
func (a *Agent) measure() {
	sampler := hostload.New(a.PIDs(), a.cfg.DataDir)
	defer sampler.Close()
	for a.sleep(a.ctx, a.cfg.Measure) == nil {
		e := sampler.Sample(a.PIDs())
		if slices.ContainsFunc(a.Nodes(), func(n NodeStatus) bool { return n.State != "reserved" }) {
			e.Host = a.cfg.Host
			a.eventLog().record(e)
		}
	}
}

// PIDs are the processes of the nodes that run.
func (a *Agent) PIDs() []int {
	var pids []int
	for _, n := range a.Nodes() {
		if n.PID != 0 {
			pids = append(pids, n.PID)
		}
	}
	return pids
}
