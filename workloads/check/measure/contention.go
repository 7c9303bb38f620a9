package measure

import (
	"cmp"
	"maps"
	"slices"

	"locklab/workloads/check/record"
	"locklab/workloads/result"
)

// contention measures how each resource went from one client to the next.
func (m *measures) contention(wakeups float64) {
	var took dist
	peers := map[string]*peer{}
	for own := range m.ByResource() {
		grants := slices.DeleteFunc(slices.Clone(own), func(a *record.Acquire) bool { return a.Outcome != record.OK })
		slices.SortFunc(grants, func(a, b *record.Acquire) int {
			return cmp.Or(cmp.Compare(a.At, b.At),
				cmp.Compare(a.Hold, b.Hold))
		})
		m.handoffs(own, grants, &took)
		m.peers(own, grants, peers)
	}
	took.into(m, map[string]float64{"handoff_p50_ms": 0.5, "handoff_p99_ms": 0.99})
	if took.h != nil && wakeups >= 0 {
		m.set("wakeups_per_handoff", wakeups, float64(took.h.TotalCount()))
	}
	for _, p := range peers {
		p.WaitP50MS, p.WaitP99MS, p.WaitMaxMS = p.waits.ms(0.5), p.waits.ms(0.99), p.waits.ms(1)
		p.BypassMean = float64(p.passed) / float64(p.waits.h.TotalCount())
		m.row.Peers = append(m.row.Peers, p.Peer)
	}
	slices.SortFunc(m.row.Peers, func(a, b result.Peer) int { return cmp.Compare(a.Node, b.Node) })
}

// handoffs takes the times from a release, while others waited, until one of these held. A
// client that asked only after the release and came first has barged in: the others wait on.
func (m *measures) handoffs(own []*record.Acquire, grants []*record.Acquire, took *dist) {
	asks, answers := make([]int64, 0, len(own)), make([]int64, 0, len(own))
	for _, a := range own {
		asks, answers = append(asks, asked(a)), append(answers, a.At)
	}
	slices.Sort(asks)
	slices.Sort(answers)
	asking, answered := cursor{times: asks}, cursor{times: answers}
	waiting := func(at int64) bool { return asking.before(at+1) > answered.before(at+1) }
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
			took.add(next.At - since)
			since = record.Never
		}
	}
}

// peer is a master with its clients.
type peer struct {
	result.Peer
	waits  dist
	passed int64
}

// peers measures how long the clients of each master waited, and how often they were passed
// over. A wait that ended without the lock counts with its length, and one that was open when
// the measured part ended with its length so far: a master that is never served is in no other.
func (m *measures) peers(own []*record.Acquire, grants []*record.Acquire, all map[string]*peer) {
	times := make([]int64, len(grants))
	for i, g := range grants {
		times[i] = g.At
	}
	begin, end := cursor{times: times}, cursor{times: times}
	for _, a := range own {
		from, to := asked(a), min(a.At, m.Drain)
		if a.Outcome == record.Unsent || a.At < m.Measure || from >= m.Drain {
			continue
		}
		p := all[a.Node]
		if p == nil {
			p = &peer{Peer: result.Peer{Node: a.Node, Zone: m.Head.HostZones[m.Head.NodeHosts[a.Node]]}}
			all[a.Node] = p
		}
		p.waits.add(to - from)
		first := begin.before(from + 1)
		passed, row := int64(0), int64(0)
		for _, g := range grants[first:max(first, end.before(to))] {
			if row++; g.Node == a.Node {
				row = 0
				continue
			}
			passed++
			p.BypassInARowMax = max(p.BypassInARowMax, row)
		}
		p.passed, p.BypassMax = p.passed+passed, max(p.BypassMax, passed)
		switch {
		case a.At >= m.Drain:
		case a.Outcome == record.OK:
			p.Acquires++
		default:
			p.GaveUp++
		}
	}
}

// cursor counts the sorted times before moments that follow each other closely.
type cursor struct {
	times []int64
	n     int
}

// before is how many of the times come before at.
func (c *cursor) before(at int64) int {
	for c.n < len(c.times) && c.times[c.n] < at {
		c.n++
	}
	for c.n > 0 && c.times[c.n-1] >= at {
		c.n--
	}
	return c.n
}

// fairness is Jain's index of the masters' grants (R. Jain, D. Chiu, W. Hawe, "A Quantitative
// Measure of Fairness", DEC-TR-301, 1984). A master that asked and got none counts.
func (m *measures) fairness() {
	got := map[string]float64{}
	for _, a := range m.Acquires {
		if a.At >= m.Measure && a.From < m.Drain {
			grants := 0.0
			if a.Outcome == record.OK && a.At < m.Drain {
				grants++
			}
			got[a.Node] += grants
		}
	}
	sum, squares := 0.0, 0.0
	for n := range maps.Values(got) {
		sum, squares = sum+n, squares+n*n
	}
	m.set("fairness", sum*sum, float64(len(got))*squares)
}
