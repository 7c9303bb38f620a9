package agent

import (
	"cmp"
	"slices"

	"locklab/locks/clock"
	"locklab/nodes/hostload"
	"locklab/workloads/history"
)

// measure records what the machine does, as long as there are nodes, be they dead: a run
// in which they were killed wants to know it, too.
func (a *Agent) measure() {
	sampler := hostload.New(a.PIDs(), a.cfg.DataDir)
	defer sampler.Close()
	for clock.Sleep(a.ctx, a.cfg.Measure) == nil {
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

// Traffic is what the host's links to one node have carried so far, in bytes.
type Traffic struct {
	ToNode   string
	Up, Down int64 // to the node, and back
}

// recordUsage records what the nodes use.
func (a *Agent) recordUsage() {
	last := a.used()
	for clock.Sleep(a.ctx, a.cfg.Usage) == nil {
		now := a.used()
		now.keep(last)
		if list := now.since(last); len(list) > 0 {
			a.eventLog().record(history.Event{Kind: history.KindUsage, FromNS: last.atNS, AtNS: now.atNS, Host: a.cfg.Host, Usage: list})
		}
		last = now
	}
}

// used is what was used up to a moment.
type used struct {
	atNS    int64
	nodes   map[string]processUse // that run
	only    string                // the node of a host that has no other: it alone dials
	traffic map[string]Traffic
}

type processUse struct {
	pid int
	hostload.Usage
	known bool
}

func (a *Agent) used() used {
	u := used{atNS: clock.Mono(), nodes: map[string]processUse{}, traffic: map[string]Traffic{}}
	nodes := a.Nodes()
	if len(nodes) == 1 {
		u.only = nodes[0].Name
	}
	for _, n := range nodes {
		if n.PID != 0 {
			p := processUse{pid: n.PID}
			p.Usage, p.known = hostload.UsageOf(n.PID)
			u.nodes[n.Name] = p
		}
	}
	if a.cfg.Traffic != nil {
		for _, t := range a.cfg.Traffic() {
			u.traffic[t.ToNode] = t
		}
	}
	return u
}

// keep takes over the most CPU time that was seen of each process: that of a child that ended is missing
// until it was waited for.
func (u used) keep(last used) {
	for name, now := range u.nodes {
		if before := last.nodes[name]; before.pid == now.pid {
			now.CPUNS = max(now.CPUNS, before.CPUNS)
			u.nodes[name] = now
		}
	}
}

// since is what was used after an earlier moment. Processes and links that are new began with nothing.
func (u used) since(last used) []history.Usage {
	var list []history.Usage
	of := func(node string) *history.Usage {
		i := slices.IndexFunc(list, func(h history.Usage) bool { return h.Node == node })
		if i < 0 {
			i, list = len(list), append(list, history.Usage{Node: node})
		}
		return &list[i]
	}
	for name, now := range u.nodes {
		if !now.known {
			continue
		}
		before := last.nodes[name]
		if before.pid != now.pid {
			before = processUse{}
		}
		h := of(name)
		h.CPUNS, h.MemoryBytes = new(max(now.CPUNS-before.CPUNS, 0)), new(now.MemoryBytes)
	}
	for node, now := range u.traffic {
		before := last.traffic[node]
		if now.Up < before.Up || now.Down < before.Down { // other links of the same name
			before = Traffic{}
		}
		up, down := now.Up-before.Up, now.Down-before.Down
		carried(of(node), up, down)
		if u.only != "" && u.only != node {
			carried(of(u.only), down, up)
		}
	}
	slices.SortFunc(list, func(a, b history.Usage) int { return cmp.Compare(a.Node, b.Node) })
	return list
}

// carried adds bytes that came to a node and from it.
func carried(to *history.Usage, in, out int64) {
	if to.InBytes == nil {
		to.InBytes, to.OutBytes = new(int64), new(int64)
	}
	*to.InBytes += in
	*to.OutBytes += out
}
