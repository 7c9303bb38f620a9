package measure

import (
	"cmp"
	"slices"
	"sort"

	"locklab/workloads/check/record"
)

// contention measures how each resource went from one client to the next.
func (m *measures) contention(wakeups float64) {
	var took []int64
	for own := range m.ByResource() {
		m.passed(own, m.handoffs(own, &took))
	}
	m.times(took, map[string]float64{"handoff_p50_ms": 0.5, "handoff_p99_ms": 0.99})
	if wakeups >= 0 {
		m.set("wakeups_per_handoff", wakeups, float64(len(took)))
	}
}

// handoffs takes the times from a release, while others waited, until one of these held. A
// client that asked only after the release and came first has barged in: the others wait on.
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

// passed counts the grants, sorted by their time, that came while a client waited. A wait that was open when
// the measured part ended counts so far.
func (m *measures) passed(own, grants []*record.Acquire) {
	before := func(at int64) int {
		return sort.Search(len(grants), func(i int) bool { return grants[i].At >= at })
	}
	for _, a := range own {
		if from := asked(a); a.Outcome != record.Unsent && a.At >= m.Measure && from < m.Drain {
			passed := float64(before(min(a.At, m.Drain)) - before(from+1))
			m.row.Figures["passed_max"] = max(m.row.Figures["passed_max"], passed)
		}
	}
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
