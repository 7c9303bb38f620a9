package lab

import (
	"context"
	"time"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/locks/clock"
	"locklab/nodes/role"
	"locklab/nodes/topology"
	"locklab/reports"
	"locklab/reports/lang"
	"locklab/reports/live"
	"locklab/reports/result"
	cells "locklab/reports/table"
	"locklab/workloads/check"
	"locklab/workloads/history"
)

// LiveInfo is what the live page must know of comparisons before they begin.
func LiveInfo(title string, parts []Config) live.Info {
	info := live.Info{Title: title, Repeats: parts[0].Repeat, Duplicates: duplicates}
	for _, z := range parts[0].Topology.Zones {
		info.Zones = append(info.Zones, live.Zone{Name: z.Name, Short: z.Short})
	}
	for i := range parts {
		for lock, s := range parts[i].eachFit {
			info.Rows = append(info.Rows, live.Key{Lock: lock.String(), Scenario: s.Name, Workload: parts[i].Workload.Name})
		}
	}
	return info
}

// duplicates has the run's own checker judge rooms while the run goes on.
func duplicates(events []history.Event) []live.Duplicate {
	c := check.New(catalog.CheckOptions())
	for i := range events {
		c.Add(&events[i])
	}
	var found []live.Duplicate
	for _, d := range c.Duplicates() {
		found = append(found, live.Duplicate{Room: d.Room, Other: d.Other, Unreachable: d.Cause == "unreachable", AtNS: d.AtNS})
	}
	return found
}

// LiveRow is a row as the live page shows it.
func LiveRow(row result.Row) live.Row {
	return live.Row{
		Key: live.Key{Lock: row.Lock, Scenario: row.Scenario, Workload: row.Workload}, Repeats: row.Repeats, As: row.Verdict.Status,
		Cell: func(say *lang.Lang) cells.Cell {
			o := reports.OutcomeOf(say, row)
			mark := map[string]cells.Mark{"ok": cells.OK, "bad": cells.Violation, "warn": cells.Unknown}[o.Class]
			return cells.Cell{Text: o.Word, Mark: mark}
		},
	}
}

// liveRun is the run as the live page shows it.
func (x *experiment) liveRun(p plan) live.Run {
	run := live.Run{
		Key:    live.Key{Lock: x.lock.String(), Scenario: x.scenario.Name, Workload: x.config.Workload.Name},
		Repeat: x.repeat, Planned: planned(x.scenario, x.config.Duration), Warmup: x.config.Warmup, Duration: x.measures(), OfferedPerS: x.config.rateUnder(x.scenario),
	}
	run.Played = x.play != nil
	for _, h := range p.topo.Hosts {
		host := live.Host{Name: h.Name, Zone: h.Zone}
		for _, n := range h.Nodes {
			host.Nodes = append(host.Nodes, live.Node{Name: n.Name, Role: n.Role})
		}
		run.Hosts = append(run.Hosts, host)
	}
	for _, pair := range p.hostPairs(false) {
		run.Links = append(run.Links, live.Link{From: pair[0], To: pair[1], RTT: p.topo.Between(pair[0], pair[1]).RTT})
	}
	return run
}

// seen is a recorder whose events the live page gets, too.
type seen struct {
	history.Recorder
	live *live.Board
}

// Record passes the event on to both.
func (s seen) Record(e history.Event) {
	s.Recorder.Record(e)
	s.live.Record(e)
}

// askEvery is between two looks at who waits for a lock.
const askEvery = 500 * time.Millisecond

// watchWaits tells the live page how many wait for a lock in each master, while somebody
// looks, until done ends.
func (x *experiment) watchWaits(done context.Context, c *cluster) {
	board := x.config.Live
	for board != nil && clock.Sleep(done, askEvery) == nil {
		if !board.Watched() {
			continue
		}
		_ = together(c.topo.NodesOf(role.Master), func(m topology.Placed) error { // one that does not answer is shown as such
			waiting := -1
			if status, err := (resolver{c}).masterStatus(done, m.Name); err == nil {
				waiting = status.Waiting
			}
			board.Waiting(m.Name, waiting)
			return nil
		})
	}
}
