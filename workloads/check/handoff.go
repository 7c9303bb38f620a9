package check

import (
	"cmp"
	"math"
	"slices"

	"locklab/internal/sentence"
	"locklab/workloads/history"
)

// handoffs is the part of the workload in which everybody waits for one resource.
type handoffs struct{ acquisitions }

// Handoff is the workload of clients that all wait for the same resource.
func Handoff() Workload {
	return Workload{Name: history.Handoff, begin: func(c *Checker) part { return handoffs{acquisitions{c}} }}
}

func (c handoffs) judge(f *Findings, t timeline) {
	f.summary = aboutHandoffs{}
	f.Counts["barged"] = 0
	for _, all := range c.byResource() {
		measureHandoffs(f, t, all)
	}
	f.Counts["handoffs"] = f.Handoff.Count()
	f.Wakeups, f.HasWakeups = c.countWakeups(t)
}

// measureHandoffs takes the times from when a holder stopped acting, while others waited,
// until one of these held. Who asks only then and comes first has barged in, and the
// others wait on: from that release, until one of them has the lock or all have given up.
// What ended without a release was not handed over. Clocks' error bounds are not taken
// into account.
func measureHandoffs(f *Findings, t timeline, all []*acquire) {
	slices.SortFunc(all, func(a, b *acquire) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.hold, b.hold)) })
	var asked, answered, until []int64 // until: when the last one of those who had asked by then had an answer
	latest := int64(math.MinInt64)
	for _, a := range slices.SortedFunc(slices.Values(all), func(a, b *acquire) int { return cmp.Compare(a.asked(), b.asked()) }) {
		latest = max(latest, a.at)
		asked, until = append(asked, a.asked()), append(until, latest)
	}
	for _, a := range all {
		answered = append(answered, a.at)
	}
	waiting := func(at int64) bool { return firstAt(asked, at+1) > firstAt(answered, at+1) }
	since := int64(math.MaxInt64) // the release that those who wait have waited for
	last := (*acquire)(nil)
	for _, next := range all {
		if !next.granted() {
			continue
		}
		if last != nil {
			released := last.stopped()
			switch sound := released != math.MaxInt64 && released <= next.at && released <= last.lost; {
			case !sound, released < t.measure, next.at >= t.drain, !waiting(released):
				since = math.MaxInt64
			case since == math.MaxInt64 || until[firstAt(asked, since+1)-1] <= released: // who waited then has given up
				since = released
			default:
				since = min(since, released)
			}
			switch {
			case since == math.MaxInt64:
			case next.asked() <= since:
				f.Handoff.add(next.at - since)
				since = math.MaxInt64
			default:
				f.Counts["barged"]++
			}
		}
		last = next
	}
}

type aboutHandoffs struct{}

func (aboutHandoffs) lacks(f *Findings) sentence.Text {
	if f.Handoff.Count() == 0 {
		return sentence.Of("nobody who waited got the lock after a release, so no handoff was measured")
	}
	return sentence.Text{}
}

func (aboutHandoffs) told(*Findings) sentence.Text { return sentence.Text{} }

// countWakeups adds up the running totals of all nodes in the measured part.
func (c handoffs) countWakeups(t timeline) (n int64, known bool) {
	byAnswer := slices.Clone(c.acquires)
	slices.SortStableFunc(byAnswer, func(a, b *acquire) int { return cmp.Compare(a.at, b.at) })
	var total runningTotals
	for _, a := range byAnswer {
		n += total.add(a.node, a.wakeups, a.at >= t.measure && a.at < t.drain)
	}
	return n, total.known()
}

// runningTotals makes increments of what each node says that it has counted so far.
type runningTotals map[int32]uint64

func (r *runningTotals) known() bool { return len(*r) > 0 }

// add is by how much a node's total grew, where that is to be measured. A node that says
// less than before has started anew; one that says nothing does not count.
func (r *runningTotals) add(node int32, total uint64, measured bool) int64 {
	if total == 0 {
		return 0
	}
	if *r == nil {
		*r = runningTotals{}
	}
	previous, known := (*r)[node]
	(*r)[node] = total
	switch {
	case !measured || !known:
		return 0
	case total < previous:
		previous = 0
	}
	return int64(total - previous) //nolint:gosec // far below
}
