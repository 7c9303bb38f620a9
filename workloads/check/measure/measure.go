// Package measure computes the figures of a run that are neither of safety nor of liveness:
// latencies, rates, contention, capacity and cost. It is a pure function of the record. A figure
// that was not measured has no entry.
package measure

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// Measures are those of one run.
type Measures struct {
	Figures map[string]float64
	Errors  map[string]int64 // of requests, by kind
	Peers   []result.Peer    // of raw workloads, by name
	Nodes   []result.Node    // by name
	Curve   []result.Point   // by rate
}

// Of measures a run.
func Of(r *record.Run) Measures {
	m := Measures{Figures: map[string]float64{}, Errors: map[string]int64{}}
	m.requests(r)
	m.acquires(r)
	m.messages(r)
	if r.Head.Workload != history.Matchmaking {
		m.handoffs(r)
		m.peers(r)
	}
	m.fairness(r)
	m.capacity(r)
	m.throughput(r)
	m.usage(r)
	return m
}

// set adds a ratio if it has a denominator.
func (m *Measures) set(name string, over, under float64) {
	if under > 0 {
		m.Figures[name] = over / under
	}
}

// requests measures the requests of players; in raw workloads, the acquisitions.
func (m *Measures) requests(r *record.Run) {
	var took, late dist
	due, ok := int64(0), 0
	players := r.Head.Workload == history.Matchmaking
	for o := range r.Due(players) {
		due += int64(o.Count)
		if o.Sent > 0 && o.Outcome != record.Unsent {
			late.add(o.Sent - o.From)
		}
		if o.Outcome == record.OK {
			ok++
			took.add(o.At - o.From)
			continue
		}
		m.Errors[cmp.Or(r.Text(o.ErrorKind), "other")] += int64(o.Count)
	}
	if players {
		m.Figures["rooms"] = 0
	}
	for i := range r.Rooms {
		if e := &r.Rooms[i]; e.State == record.RoomStarting && e.At >= r.Measure && e.At < r.Drain {
			m.Figures["rooms"]++
		}
	}
	took.into(m, map[string]float64{"request_p50_ms": 0.5, "request_p99_ms": 0.99, "request_max_ms": 1})
	late.into(m, map[string]float64{"late_p99_ms": 0.99})
	m.Figures["requests"] = float64(due)
	seconds := time.Duration(r.Drain - r.Measure).Seconds()
	m.set("achieved_per_s", float64(ok), seconds)
	if n := r.Offered(r.Measure); n > 0 {
		m.set("offered_per_s", n, seconds)
	}
}

// acquires measures the acquisitions that were due in the measured part, and their holds.
func (m *Measures) acquires(r *record.Run) {
	var took, held dist
	for i := range r.Acquires {
		a := &r.Acquires[i]
		if a.From < r.Measure || a.From >= r.Drain || a.Outcome != record.OK {
			continue
		}
		took.add(a.At - asked(a))
		if a.Granted() && a.Until != record.Never {
			held.add(a.Until - a.At)
		}
	}
	took.into(m, map[string]float64{"acquire_p50_ms": 0.5, "acquire_p99_ms": 0.99, "acquire_max_ms": 1})
	held.into(m, map[string]float64{"hold_p50_ms": 0.5})
	if p50, known := m.Figures["acquire_p50_ms"]; known {
		m.set("acquire_rtts", p50, ms(r.Head.RTTNS))
	}
}

// asked is when the client asked for the lock: later than it was due if the client was busy.
func asked(a *record.Acquire) int64 { return max(a.From, a.Sent) }

func ms(ns int64) float64 { return float64(ns) / float64(time.Millisecond) }

// dist is a distribution of times with three significant digits, up to an hour.
type dist struct{ h *hdrhistogram.Histogram }

func (d *dist) add(ns int64) {
	if d.h == nil {
		d.h = hdrhistogram.New(1, int64(time.Hour), 3)
	}
	_ = d.h.RecordValue(min(max(ns, 0), int64(time.Hour))) // within its bounds
}

// into adds the named quantiles to the figures; none of no values.
func (d *dist) into(m *Measures, names map[string]float64) {
	for name, q := range names {
		if d.h != nil {
			m.Figures[name] = d.ms(q)
		}
	}
}

// ms is the time that a share q of all did not exceed. The histogram's own takes the
// nearest rank, above which there may be more than one in 100. It is 0 of no values.
func (d *dist) ms(q float64) float64 {
	if d.h == nil {
		return 0
	}
	n := float64(d.h.TotalCount())
	return ms(d.h.ValueAtQuantile(100 * math.Ceil(q*n-1e-6) / n))
}

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

// throughput is how requests fared at each rate that was tried, and the highest that passed.
func (m *Measures) throughput(r *record.Run) {
	for _, c := range r.Capacities {
		if c.State != history.CapacityMatches {
			continue
		}
		var took, late dist
		due, ok := uint32(0), uint32(0)
		for i := range r.Requests {
			q := &r.Requests[i]
			if q.From < c.Sent || q.From >= c.At {
				continue
			}
			if due += q.Count; q.Sent > 0 {
				late.add(q.Sent - q.From)
			}
			if q.Outcome == record.OK {
				ok += q.Count
				took.add(q.At - q.From)
			}
		}
		if due == 0 {
			continue
		}
		p := result.Point{RatePerS: float64(due) / time.Duration(c.At-c.Sent).Seconds(), P99MS: took.ms(0.99)}
		p.Late = late.ms(0.99) >= ms(int64(history.MatchesLate))
		if p.OK = ok == due && p.P99MS < ms(int64(history.MatchesP99)) && !p.Late; p.OK {
			m.Figures["matches_per_s"] = max(m.Figures["matches_per_s"], p.RatePerS)
		}
		m.Curve = append(m.Curve, p)
	}
	slices.SortFunc(m.Curve, func(a, b result.Point) int { return cmp.Compare(a.RatePerS, b.RatePerS) })
}
