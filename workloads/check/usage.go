package check

import (
	"maps"
	"slices"
	"time"

	"locklab/internal/sentence"
	"locklab/workloads/history"
)

// NodeUsage is what one node used in the measured part, over all repeats.
type NodeUsage struct {
	Node string
	// CPUNS is the time that its processes had a CPU, of RanNS in which they ran and were
	// looked at; 0 if nobody looked.
	CPUNS, RanNS   int64
	CPUMax         float64 `merge:"max"` // CPUs that it used at once, in the sample with most; at least the mean
	MemoryMaxBytes int64   `merge:"max"` // 0 if nobody looked
	// InBytes and OutBytes passed links in LinkedNS; 0 if it had none.
	InBytes, OutBytes, LinkedNS int64
	// Over is the same over time, with Options.Ops, of one repeat.
	Over []UsageBin `merge:"-"`
}

// UsageBin is what a node used in one stretch of [UsageLength] of the measured part.
type UsageBin struct{ CPUNS, RanNS, MemoryBytes, InBytes, OutBytes int64 }

// UsageLength is the resolution of usage over time: that of the samples.
const UsageLength = time.Second

// CPUs is how many CPUs it used on average while it ran; false if that is not known.
func (n *NodeUsage) CPUs() (float64, bool) {
	return ratio(float64(n.CPUNS), float64(n.RanNS)), n.RanNS > 0
}

// usageEvent is a sample of one node.
type usageEvent struct {
	node int32
	span
	history.Usage
}

func (c *Checker) addUsage(e *history.Event) {
	for _, u := range e.Usage {
		if u.Node != "" && e.FromNS < e.AtNS {
			c.usage = push(c.usage, usageEvent{node: c.names.id(u.Node), span: span{e.FromNS, e.AtNS}, Usage: u})
		}
	}
}

// measureUsage adds up what the nodes used in the measured part.
func (c *Checker) measureUsage(f *Findings, t timeline) {
	nodes := map[string]*NodeUsage{}
	for _, e := range c.usage {
		in := span{max(e.from, t.measure), min(e.to, t.drain)}
		if in.from >= in.to {
			continue
		}
		name := c.names.text(e.node)
		n := nodes[name]
		if n == nil {
			n = &NodeUsage{Node: name}
			nodes[name] = n
		}
		n.add(e, in)
		if c.opts.Ops {
			n.spread(e, in, t)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[name]
		if n.LinkedNS > 0 {
			n.LinkedNS = f.MeasuredNS // several hosts count for it at once
		}
		if mean, known := n.CPUs(); known {
			n.CPUMax = max(n.CPUMax, mean) // a short run may have no sample that is all in it
		}
		f.Nodes = append(f.Nodes, *n)
	}
}

// checkLinks sees whether a user's program used the links and servers that were broken. What
// passes no link, such as a lock on a file that all share, is not touched by that.
func (c *Checker) checkLinks(f *Findings) {
	program := c.run.Program
	if program == nil {
		return
	}
	beside := func(node string) bool { return !slices.Contains(program.Servers, node) } // perhaps its master
	if !slices.ContainsFunc(c.faults, func(l *fault) bool { return len(l.From)+len(l.Nodes) > 0 && !slices.ContainsFunc(l.Nodes, beside) }) {
		return
	}
	if len(program.Servers) == 0 {
		f.Unlinked = append(f.Unlinked, sentence.Of("the lock's program asks for no servers, so nothing of it passes the links that were broken"))
		return
	}
	seen, bytes := false, int64(0)
	for _, n := range f.Nodes {
		if slices.Contains(program.Servers, n.Node) && n.LinkedNS > 0 {
			seen, bytes = true, bytes+n.InBytes+n.OutBytes
		}
	}
	if seen && bytes == 0 {
		f.Unlinked = append(f.Unlinked, sentence.Of("nothing of the lock's program passed the links to its servers, so what was broken of them shows nothing of it"))
	}
}

// part is what of a sum falls into a part of the sample, as if it had been even.
func (e *usageEvent) part(n *int64, in span) int64 {
	if n == nil {
		return 0
	}
	return int64(float64(*n) * float64(in.to-in.from) / float64(e.to-e.from))
}

func (n *NodeUsage) add(e usageEvent, in span) {
	if e.CPUNS != nil {
		n.CPUNS += e.part(e.CPUNS, in)
		n.RanNS += in.to - in.from
		if in == e.span { // what was used outside is not known apart
			n.CPUMax = max(n.CPUMax, float64(*e.CPUNS)/float64(e.to-e.from))
		}
	}
	if e.MemoryBytes != nil {
		n.MemoryMaxBytes = max(n.MemoryMaxBytes, *e.MemoryBytes)
	}
	if e.InBytes != nil && e.OutBytes != nil {
		n.InBytes += e.part(e.InBytes, in)
		n.OutBytes += e.part(e.OutBytes, in)
		n.LinkedNS = 1
	}
}

// spread divides a sample among the bins that it meets.
func (n *NodeUsage) spread(e usageEvent, in span, t timeline) {
	const most = 1 << 16 // most of a day: no file can ask for more memory than that
	width := int64(UsageLength)
	for at := (in.from - t.measure) / width; at < most; at++ {
		bin := span{max(in.from, t.measure+at*width), min(in.to, t.measure+(at+1)*width)}
		if bin.from >= bin.to {
			return
		}
		for int64(len(n.Over)) <= at {
			n.Over = append(n.Over, UsageBin{})
		}
		b := &n.Over[at]
		if e.CPUNS != nil {
			b.CPUNS += e.part(e.CPUNS, bin)
			b.RanNS += bin.to - bin.from
		}
		if e.MemoryBytes != nil {
			b.MemoryBytes = max(b.MemoryBytes, *e.MemoryBytes)
		}
		b.InBytes += e.part(e.InBytes, bin)
		b.OutBytes += e.part(e.OutBytes, bin)
	}
}
