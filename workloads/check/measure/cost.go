package measure

import (
	"maps"
	"slices"
	"time"

	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// messages divides what the masters' locks sent in the measured part by the acquisitions that
// ended in it. Canaries send messages as well, so they count on both sides.
func (m *Measures) messages(r *record.Run) {
	if n, ended, known := counted(r, func(a *record.Acquire) uint64 { return a.Messages }); known {
		m.set("messages_per_acquire", n, ended)
	}
}

// counted is by how much the running totals of all masters grew in the measured part, and how
// many acquisitions ended in it: each life of a process counts from 0. The totals are not known of
// locks that count nothing.
func counted(r *record.Run, total func(*record.Acquire) uint64) (sum, ended float64, known bool) {
	killed := make([][]int64, len(r.Names))
	totals := make([][][2]uint64, len(r.Names)) // by life: the highest before the measured part, and by its end
	for i := range r.Nodes {
		killed[r.Nodes[i].Name] = r.Nodes[i].Killed
	}
	for _, list := range [][]record.Acquire{r.Acquires, r.Canaries} {
		for i := range list {
			a := &list[i]
			if a.At >= r.Drain {
				continue
			}
			if a.Outcome != record.Unsent && a.At >= r.Measure {
				ended++
			}
			life := before(killed[a.Node], a.At)
			for len(totals[a.Node]) <= life {
				totals[a.Node] = append(totals[a.Node], [2]uint64{})
			}
			seen := &totals[a.Node][life]
			seen[1] = max(seen[1], total(a))
			if a.At < r.Measure {
				seen[0] = max(seen[0], total(a))
			}
		}
	}
	for _, lives := range totals {
		for _, seen := range lives {
			sum, known = sum+float64(seen[1]-seen[0]), known || seen[1] > 0
		}
	}
	return sum, ended, known
}

// capacity is how many grants full loads of clients got. CPU time is that of all nodes, of the
// samples during which the load was on all the time.
func (m *Measures) capacity(r *record.Run) {
	for state, name := range map[string]string{history.CapacityOwn: "grants_per_s", history.CapacityOne: "handoffs_per_s"} {
		var grants, over, cpu float64
		for _, c := range r.Capacities {
			if c.State != state {
				continue
			}
			took := float64(c.At - c.Sent)
			grants, over = grants+float64(c.Count), over+took
			ran, looked := map[record.Name]float64{}, map[record.Name]float64{}
			for i := range r.Usage {
				if u := &r.Usage[i]; u.CPUNS != nil && u.From >= c.From && u.To <= c.At {
					ran[u.Node] += float64(*u.CPUNS)
					looked[u.Node] += float64(u.Len())
				}
			}
			for _, node := range slices.Sorted(maps.Keys(ran)) {
				cpu += ran[node] / looked[node] * took
			}
		}
		m.set(name, grants*float64(time.Second), over)
		if state == history.CapacityOwn && cpu > 0 {
			m.set("cpu_us_per_grant", cpu/float64(time.Microsecond), grants)
		}
	}
}

// usage adds up what the nodes used in the measured part.
func (m *Measures) usage(r *record.Run) {
	type node struct {
		result.Node
		ranNS, cpuNS, in, out float64
	}
	nodes := map[string]*node{}
	for i := range r.Usage {
		u := &r.Usage[i]
		in := record.Span{From: max(u.From, r.Measure), To: min(u.To, r.Drain)}
		if in.Len() <= 0 {
			continue
		}
		name := r.Text(u.Node)
		n := nodes[name]
		if n == nil {
			n = &node{Node: result.Node{Node: name, Zone: zone(r, u.Node)}}
			nodes[name] = n
		}
		part := func(sum *int64) float64 { // as if it had been even
			if sum == nil {
				return 0
			}
			return float64(*sum) * float64(in.Len()) / float64(u.Len())
		}
		if u.CPUNS != nil {
			n.cpuNS, n.ranNS = n.cpuNS+part(u.CPUNS), n.ranNS+float64(in.Len())
		}
		if u.MemoryBytes != nil {
			n.MemoryMiB = max(n.MemoryMiB, float64(*u.MemoryBytes)/(1<<20))
		}
		n.in, n.out = n.in+part(u.InBytes), n.out+part(u.OutBytes)
	}
	measured := float64(r.Drain - r.Measure)
	cpuNS, memory := 0.0, 0.0
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[name]
		if n.ranNS > 0 {
			n.CPUs = n.cpuNS / n.ranNS
		}
		n.InPerS, n.OutPerS = n.in/measured*float64(time.Second), n.out/measured*float64(time.Second)
		cpuNS, memory = cpuNS+n.cpuNS, max(memory, n.MemoryMiB)
		m.Nodes = append(m.Nodes, n.Node)
	}
	if cpuNS > 0 {
		m.set("cpus", cpuNS, measured)
	}
	if memory > 0 {
		m.Figures["memory_mib"] = memory
	}
}
