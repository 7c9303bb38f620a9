package reports

import (
	"strconv"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// waitTable is who waited how long for the lock, master by master.
type waitTable struct {
	Workload string
	Spans    []columnGroup
	Heads    []waitHead
	Groups   []waitGroup
}

// waitGroup is the masters of one lock under one scenario.
type waitGroup struct {
	Lock, Scenario, Fairness string
	Peers                    []waitLine
}

type waitLine struct {
	Node, Zone string
	Cells      []string // as in waitHeads
}

// waitHead is a column of the table that has figures.
type waitHead struct {
	Group, Title string
	of           func(result.Peer) string
}

// waitSpans are the groups above the titles, each with the columns below it.
func waitSpans(say *lang.Lang) []columnGroup {
	var spans []columnGroup
	for _, h := range waitHeads(say) {
		if n := len(spans); n > 0 && spans[n-1].Name == h.Group {
			spans[n-1].Span++
			continue
		}
		spans = append(spans, columnGroup{h.Group, 1})
	}
	return spans
}

// Name is the title where there is no line above for the groups.
func (h waitHead) Name() string {
	group, inMS := strings.CutSuffix(h.Group, ", ms")
	name := strings.TrimSpace(group + " " + h.Title)
	if inMS {
		name += ", ms"
	}
	return name
}

func waitHeads(say *lang.Lang) []waitHead {
	wait := func(of func(*result.Quantiles) float64) func(result.Peer) string {
		return func(p result.Peer) string {
			if p.WaitMS == nil {
				return absent
			}
			return figure(of(p.WaitMS))
		}
	}
	return []waitHead{
		{"", say.Text("rank"), func(p result.Peer) string {
			if p.Rank == nil {
				return absent
			}
			return strconv.Itoa(*p.Rank)
		}},
		{"", say.Text("acquired"), func(p result.Peer) string { return count(p.Acquires) }},
		{"", say.Text("gave up"), func(p result.Peer) string { return count(p.GaveUp) }},
		{say.Text("wait, ms"), "p50", wait(func(q *result.Quantiles) float64 { return q.P50 })},
		{say.Text("wait, ms"), "p99", wait(func(q *result.Quantiles) float64 { return q.P99 })},
		{say.Text("wait, ms"), say.Text("max"), wait(func(q *result.Quantiles) float64 { return q.Max })},
		{say.Text("bypassed"), say.Text("mean"), func(p result.Peer) string { return figure(p.BypassMean) }},
		{say.Text("bypassed"), say.Text("max"), func(p result.Peer) string { return count(p.BypassMax) }},
		{say.Text("bypassed"), say.Text("in a row"), func(p result.Peer) string { return count(p.BypassInARowMax) }},
	}
}

// waitNote explains the table in both reports.
const waitNote = "A wait lasts from asking for the lock to holding it. Bypassed: grants of the same resource to other masters while one waited; " +
	"in a row: with none to this master in between, which its own clients in front do not add to. " +
	"Waits that ended without the lock, and those that were open at the end, count as far as they came. " +
	"Rank 0 is the highest priority, for locks that have priorities. " +
	"Fairness is Jain's index over what the masters acquired: 1 if all got the same, 1/n if one of n got everything; of repeats, the mean of each one's. " +
	"A lock starves a master if its longest wait and the grants in a row to others grow with the length of the run."

func waitsOf(say *lang.Lang, rows []result.Row) []waitTable {
	var tables []waitTable
	for _, workload := range workloadsOf(rows) {
		t := waitTable{Workload: plain(workload), Spans: waitSpans(say), Heads: waitHeads(say)}
		for _, r := range byScenario(rowsWith(rows, func(r result.Row) bool { return r.Workload == workload && len(r.Peers) > 0 })) {
			g := waitGroup{Lock: plain(r.Lock), Scenario: plain(r.Scenario), Fairness: fairnessText(r.PeerFairness)}
			for _, p := range r.Peers {
				line := waitLine{Node: plain(p.Node), Zone: orAbsent(p.Zone)}
				for _, h := range t.Heads {
					line.Cells = append(line.Cells, h.of(p))
				}
				g.Peers = append(g.Peers, line)
			}
			t.Groups = append(t.Groups, g)
		}
		if len(t.Groups) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

// fairnessText keeps three digits: what is unfair shows in the second or third.
func fairnessText(v *float64) string {
	if v == nil {
		return absent
	}
	return strconv.FormatFloat(*v, 'f', 3, 64)
}
