package agent

import (
	"maps"
	"slices"

	"locklab/locks/clock"
	"locklab/nodes/hostload"
	"locklab/workloads/history"
)

// measure records the load of the machine while there are nodes, even dead ones: a run in which
// they were killed needs it, too.
func (a *Agent) measure() {
	sampler := hostload.New(a.PIDs(), a.cfg.DataDir)
	defer sampler.Close()
	for clock.Sleep(a.ctx, a.cfg.Measure) == nil {
		e := sampler.Sample(a.PIDs())
		if slices.ContainsFunc(a.sorted(), func(n *node) bool { return n.current() != nil }) {
			e.Host = a.cfg.Host
			a.eventLog().record(e)
		}
	}
}

// recordUsage records the resources that the nodes use.
func (a *Agent) recordUsage() {
	last := a.used()
	for clock.Sleep(a.ctx, a.cfg.Usage) == nil {
		now := a.used()
		if list := now.since(last); len(list) > 0 {
			a.eventLog().record(history.Event{
				Kind: history.KindUsage, FromNS: last.atNS, AtNS: now.atNS, Host: a.cfg.Host, Usage: list,
			})
		}
		last = now
	}
}

// used is the resources used up to a moment.
type used struct {
	atNS    int64
	nodes   map[string]processUse // the running ones
	only    string                // the node of a host with a single node: all its links' traffic
	traffic map[string][2]int64   // see Config
}

type processUse struct {
	pid int
	hostload.Usage
}

func (a *Agent) used() used {
	u := used{atNS: clock.Mono(), nodes: map[string]processUse{}}
	nodes := a.sorted()
	if len(nodes) == 1 {
		u.only = nodes[0].name
	}
	for _, n := range nodes {
		_, pid := n.state()
		if usage, ok := hostload.UsageOf(pid); ok {
			u.nodes[n.name] = processUse{pid, usage}
		}
	}
	if a.cfg.Traffic != nil {
		u.traffic = a.cfg.Traffic()
	}
	return u
}

// since returns the usage after an earlier moment. New processes and links start at zero. CPU time never goes
// down here: that of a child that ended is missing until its parent waits for it.
func (u used) since(last used) []history.Usage {
	found := map[string]history.Usage{}
	for name, now := range u.nodes {
		before := last.nodes[name]
		if before.pid != now.pid {
			before = processUse{}
		}
		now.CPUNS = max(now.CPUNS, before.CPUNS)
		u.nodes[name] = now
		found[name] = history.Usage{CPUNS: new(now.CPUNS - before.CPUNS), MemoryBytes: new(now.MemoryBytes)}
	}
	carried := func(node string, in, out int64) {
		h := found[node]
		if h.InBytes == nil {
			h.InBytes, h.OutBytes = new(int64), new(int64)
		}
		*h.InBytes += in
		*h.OutBytes += out
		found[node] = h
	}
	for node, now := range u.traffic {
		before := last.traffic[node]
		if now[0] < before[0] || now[1] < before[1] { // new links of the same name
			before = [2]int64{}
		}
		up, down := now[0]-before[0], now[1]-before[1]
		carried(node, up, down)
		if u.only != "" && u.only != node {
			carried(u.only, down, up)
		}
	}
	var list []history.Usage
	for _, node := range slices.Sorted(maps.Keys(found)) {
		h := found[node]
		h.Node = node
		list = append(list, h)
	}
	return list
}
