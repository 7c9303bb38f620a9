package check

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"
	"time"

	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// measure returns a row with its errors and with all figures but those of safety and liveness: latencies, rates,
// contention, capacity and cost. A figure that was not measured has no entry.
func measure(r *record.Run) result.Row {
	m := measures{Run: r, row: result.Row{Figures: map[string]float64{}, Errors: map[string]int64{}}}
	m.requests()
	m.acquires()
	messages, wakeups, ended := m.counted()
	if messages >= 0 { // canaries send messages as well, so they count on both sides
		m.set("messages_per_acquire", messages, ended)
	}
	if !r.Workload.Players {
		m.contention(wakeups)
	}
	m.fairness()
	m.capacity()
	m.usage()
	return m.row
}

type measures struct {
	*record.Run
	row result.Row
}

// set adds a ratio if it has a denominator.
func (m *measures) set(name string, over, under float64) {
	if under > 0 {
		m.row.Figures[name] = over / under
	}
}

// requests measures the requests of players; in raw workloads, the acquisitions.
func (m *measures) requests() {
	var took, late []int64
	var due, ok float64
	for o := range m.Due(m.Workload.Players) {
		if due += float64(o.Count); o.Sent > 0 && o.Outcome != record.Unsent {
			late = append(late, o.Sent-o.From)
		}
		if o.Outcome == record.OK {
			ok += float64(o.Count)
			took = append(took, o.At-o.From)
		} else {
			m.row.Errors[cmp.Or(o.ErrorKind, "other")] += int64(o.Count)
		}
	}
	for i := range m.Rooms {
		if at := m.Rooms[i].At[record.RoomStarting]; at >= m.Measure && at < m.Drain {
			m.row.Figures["rooms"]++
		}
	}
	m.times(took, map[string]float64{"request_p50_ms": 0.5, "request_p99_ms": 0.99, "request_max_ms": 1})
	m.times(late, map[string]float64{"late_p99_ms": 0.99})
	m.row.Figures["requests"] = due
	seconds := time.Duration(m.Drain - m.Measure).Seconds()
	m.set("achieved_per_s", ok, seconds)
	if n := m.Offered(m.Measure); n > 0 {
		m.set("offered_per_s", n, seconds)
	}
}

// acquires measures the acquisitions that were due in the measured part, and their holds.
func (m *measures) acquires() {
	var took, held []int64
	for _, a := range m.Acquires {
		if a.From < m.Measure || a.From >= m.Drain || a.Outcome != record.OK {
			continue
		}
		took = append(took, a.At-asked(a))
		if a.Granted() && a.Until != record.Never {
			held = append(held, a.Until-a.At)
		}
	}
	m.times(took, map[string]float64{"acquire_p50_ms": 0.5, "acquire_p99_ms": 0.99, "acquire_max_ms": 1})
	m.times(held, map[string]float64{"hold_p50_ms": 0.5})
}

// asked is when the client asked for the lock: later than it was due if the client was busy.
func asked(a *record.Acquire) int64 { return max(a.From, a.Sent) }

// times adds a figure for each share: the time that this share of all did not exceed.
func (m *measures) times(all []int64, shares map[string]float64) {
	for name, share := range shares {
		if len(all) > 0 {
			m.row.Figures[name] = record.MS(max(quantile(all, share), 0))
		}
	}
}

// quantile is what this share of the numbers did not exceed, 0 of none; it sorts them.
func quantile(list []int64, share float64) int64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[int(math.Ceil(share*float64(len(list))-1e-6))-1] // 0.99 * 100 is not 99
}

// counted returns how much the running totals of all masters grew in the measured part, and how many acquisitions
// ended in it. Totals begin at 0 in each life of a process, and are -1 if the lock does not count.
func (m *measures) counted() (messages, wakeups, ended float64) {
	type life struct {
		node string
		n    int
	}
	totals := map[life]*[2][2]uint64{} // the highest before the measured part, and before its end
	for _, list := range [][]*record.Acquire{m.Acquires, m.Canaries} {
		for _, a := range list {
			if a.At >= m.Drain {
				continue
			}
			if a.Outcome != record.Unsent && a.At >= m.Measure {
				ended++
			}
			of := life{a.Node, m.Nodes[a.Node].Life(a.At)}
			if totals[of] == nil {
				totals[of] = &[2][2]uint64{}
			}
			seen := totals[of]
			for i, total := range [2]uint64{a.Messages, a.Wakeups} {
				if seen[i][1] = max(seen[i][1], total); a.At < m.Measure {
					seen[i][0] = max(seen[i][0], total)
				}
			}
		}
	}
	var sums [2]float64
	for i := range sums {
		known := false
		for _, seen := range totals {
			sums[i], known = sums[i]+float64(seen[i][1]-seen[i][0]), known || seen[i][1] > 0
		}
		if !known {
			sums[i] = -1
		}
	}
	return sums[0], sums[1], ended
}

// capacity measures grants per second under full load, and CPU time per grant: that of all nodes, in the samples
// that lie within the load.
func (m *measures) capacity() {
	for state, name := range map[string]string{
		history.CapacityOwn: "grants_per_s",
		history.CapacityOne: "handoffs_per_s",
	} {
		var grants, over, cpu float64
		for _, c := range m.Capacities {
			if c.State != state {
				continue
			}
			took := float64(c.AtNS - c.SentNS)
			grants, over = grants+float64(c.Count), over+took
			ran, looked := map[string]float64{}, map[string]float64{}
			for _, e := range m.Usage {
				for _, u := range e.Usage {
					if u.CPUNS != nil && e.FromNS >= c.FromNS && e.AtNS <= c.AtNS {
						ran[u.Node] += float64(*u.CPUNS)
						looked[u.Node] += float64(e.AtNS - e.FromNS)
					}
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
func (m *measures) usage() {
	cpuNS, memory := 0.0, int64(0)
	for _, e := range m.Usage {
		in := min(e.AtNS, m.Drain) - max(e.FromNS, m.Measure)
		if in <= 0 {
			continue
		}
		for _, u := range e.Usage {
			if u.CPUNS != nil { // assumes an even use
				cpuNS += float64(*u.CPUNS) * float64(in) / float64(e.AtNS-e.FromNS)
			}
			if u.MemoryBytes != nil {
				memory = max(memory, *u.MemoryBytes)
			}
		}
	}
	if cpuNS > 0 {
		m.set("cpus", cpuNS, float64(m.Drain-m.Measure))
	}
	if memory > 0 {
		m.row.Figures["memory_mib"] = float64(memory) / (1 << 20)
	}
}

// contention measures how each resource went from one client to the next.
func (m *measures) contention(wakeups float64) {
	var took []int64
	for own := range m.ByResource() {
		m.overtaken(own, m.handoffs(own, &took))
	}
	m.times(took, map[string]float64{"handoff_p50_ms": 0.5, "handoff_p99_ms": 0.99})
	if wakeups >= 0 {
		m.set("wakeups_per_handoff", wakeups, float64(len(took)))
	}
}

// handoffs measures the time from a release, while others waited, until one of these held. A client that asked
// only after the release and came first has barged in: the others wait on.
func (m *measures) handoffs(own []*record.Acquire, took *[]int64) (grants []*record.Acquire) {
	var asks, answers []int64
	for _, a := range own {
		asks, answers = append(asks, asked(a)), append(answers, a.At)
		if a.Outcome == record.OK {
			grants = append(grants, a)
		}
	}
	slices.Sort(asks)
	slices.Sort(answers)
	slices.SortFunc(grants, func(a, b *record.Acquire) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Hold, b.Hold))
	})
	waiting := func(at int64) bool {
		began, _ := slices.BinarySearch(asks, at+1)
		ended, _ := slices.BinarySearch(answers, at+1)
		return began > ended
	}
	since := int64(record.Never) // the first release since a waiting client held
	for i := 1; i < len(grants); i++ {
		last, next := grants[i-1], grants[i]
		released := last.Stopped
		if released != last.Until || released > next.At || released < m.Measure || next.At >= m.Drain || !waiting(released) {
			since = record.Never
			continue
		}
		since = min(since, released)
		if asked(next) <= released {
			*took = append(*took, next.At-since)
			since = record.Never
		}
	}
	return grants
}

// overtaken finds how often one client overtook another's wait in the measured part: it asked later and was granted
// earlier. Grants are sorted by time.
func (m *measures) overtaken(own, grants []*record.Acquire) {
	type request struct {
		asked  int64
		grants []int64 // of its client, from its own on
	}
	type wait struct {
		behind int // the first request that was asked later
		until  int64
	}
	of := map[string][]int64{} // when each client was granted
	grants = grants[sort.Search(len(grants), func(i int) bool { return grants[i].At >= m.Measure }):]
	for _, g := range grants {
		of[g.Client] = append(of[g.Client], g.At)
	}
	var requests []request
	for _, g := range grants {
		requests = append(requests, request{asked(g), of[g.Client]})
		of[g.Client] = of[g.Client][1:]
	}
	slices.SortFunc(requests, func(a, b request) int { return cmp.Compare(a.asked, b.asked) })
	var waits []wait
	for _, a := range own {
		if from := asked(a); a.Outcome != record.Unsent && a.At >= m.Measure && from < m.Drain {
			behind := sort.Search(len(requests), func(i int) bool { return requests[i].asked > from })
			waits = append(waits, wait{behind, min(a.At, m.Drain)})
		}
	}
	if len(waits) == 0 {
		return
	}
	soonest := make([]int64, len(requests)+1) // when a client that asked then or later had been granted often enough
	soonest[len(requests)] = record.Never
	most := sort.Search(len(requests), func(n int) bool { // none was overtaken more than n times
		for i, r := range slices.Backward(requests) {
			soonest[i] = soonest[i+1]
			if n < len(r.grants) {
				soonest[i] = min(soonest[i], r.grants[n])
			}
		}
		return !slices.ContainsFunc(waits, func(w wait) bool { return soonest[w.behind] < w.until })
	})
	m.row.Figures["overtaken_max"] = max(m.row.Figures["overtaken_max"], float64(most))
}

// fairness is Jain's index of the masters' grants (R. Jain, D. Chiu, W. Hawe, "A Quantitative
// Measure of Fairness", DEC-TR-301, 1984). A master that asked and got none counts.
func (m *measures) fairness() {
	got := map[string]float64{}
	for _, a := range m.Acquires {
		if a.At >= m.Measure && a.From < m.Drain {
			got[a.Node] += 0
			if a.Outcome == record.OK && a.At < m.Drain {
				got[a.Node]++
			}
		}
	}
	sum, squares := 0.0, 0.0
	for _, n := range got {
		sum, squares = sum+n, squares+n*n
	}
	m.set("fairness", sum*sum, float64(len(got))*squares)
}
