package result

// NodeLoad is what one node used in the measured part, over all repeats. What its system
// does not tell is absent.
type NodeLoad struct {
	Node string `json:"node"`
	Role string `json:"role,omitempty"`
	Zone string `json:"zone,omitempty"`
	// CPUs is how many CPUs its processes used on average while they ran, CPUsMax in the
	// second with most.
	CPUs         *float64 `json:"cpus,omitempty"`
	CPUsMax      *float64 `json:"cpus_max,omitempty"`
	MemoryMaxMiB *float64 `json:"memory_max_mib,omitempty"`
	// InBytesPerS came to it through links and OutBytesPerS from it.
	InBytesPerS  *float64 `json:"in_bytes_per_s,omitempty"`
	OutBytesPerS *float64 `json:"out_bytes_per_s,omitempty"`
}

func (r Row) nodes() []NodeLoad { return r.Nodes }

// allNodes is the sum of a figure of the nodes that have it; false if none has.
func allNodes(of func(NodeLoad) *float64) func(Row) (float64, bool) {
	return func(r Row) (sum float64, known bool) {
		for _, n := range r.Nodes {
			if v := of(n); v != nil {
				sum, known = sum+*v, true
			}
		}
		return sum, known
	}
}

// nodeFigures are those of the nodes of a row.
func nodeFigures() []Figure {
	figure := func(column, title, name, means string, of func(Row) (float64, bool)) Figure {
		return Figure{Column: column, Group: "Nodes", Title: title, Name: name, Term: name, Better: Lower, Place: 8, Means: means, of: of}
	}
	cpu := figure("nodes_cpus", "CPUs, all", "CPUs of all nodes", "How many CPUs the processes of the nodes used, each on average while it ran, added up; what descends from them counts as theirs.",
		allNodes(func(n NodeLoad) *float64 { return n.CPUs }))
	memory := figure("node_memory_max_mib", "memory, MiB", "memory of a node, MiB", "The most that a node had in memory, of the node with most.",
		worst(Row.nodes, func(n NodeLoad) *float64 { return n.MemoryMaxMiB }))
	in := figure("node_in_bytes_per_s", "in, bytes/s", "to a node, bytes/s", "What came to a node through links, of the node with most. What a node dials itself is in it if it is the only one of its host; what stays on one host passes no link.",
		worst(Row.nodes, func(n NodeLoad) *float64 { return n.InBytesPerS }))
	out := figure("node_out_bytes_per_s", "out, bytes/s", "from a node, bytes/s", "What came from a node, likewise.",
		worst(Row.nodes, func(n NodeLoad) *float64 { return n.OutBytesPerS }))
	busiest := figure("node_cpus_worst", "CPUs, busiest", "CPUs of the busiest node", "How many CPUs the busiest node used on average while it ran.",
		worst(Row.nodes, func(n NodeLoad) *float64 { return n.CPUs }))
	cpu.InMarkdown, memory.InMarkdown, in.InMarkdown, out.InMarkdown = true, true, true, true
	in.As, out.As = Count, Count
	return []Figure{cpu, busiest, memory, in, out}
}
