package lab

import (
	"cmp"
	"math"
	"slices"
	"time"

	"locklab/internal/sentence"
	"locklab/nodes/role"
	"locklab/nodes/topology"
	"locklab/reports/result"
	"locklab/workloads/check"
	"locklab/workloads/history"
)

// rowOf is the row of the repeats of one combination, judged by what their histories say
// was expected.
func rowOf(repeats []repeat, topo *topology.Topology) result.Row {
	var all []*check.Findings
	var histories []string
	var aside []sentence.Text
	for _, r := range repeats {
		all, histories, aside = append(all, r.found), append(histories, r.history), append(aside, r.aside...)
	}
	want := check.ExpectationOf(all[0].Run)
	merged, verdict := check.JudgeRepeats(all, want)
	row := toRow(merged, verdict, want, histories)
	if len(aside) > 0 {
		row.Verdict.Say(sentence.Of("%s. An earlier try that decides nothing showed %s", row.Verdict.Told(), sentence.And(aside...)))
	}
	row.Peers, row.Nodes = toPeers(merged.Peers, topo), toNodes(merged.Nodes, topo)
	for _, r := range repeats {
		row.PerRepeat = append(row.PerRepeat, r.figures)
		row.SharedServers = row.SharedServers || r.found.Run.Shared
	}
	if len(repeats) > 1 {
		row.Tries = tries(all, want)
	}
	return row
}

// tries counts what each repeat would have been called alone.
func tries(repeats []*check.Findings, want history.Expect) *result.Tries {
	var t result.Tries
	for _, f := range repeats {
		switch v := check.Judge(f, want); {
		case v.Status == check.Inconclusive:
			t.Undecided++
		case v.Safety == check.Unsafe:
			t.Seen++
		default:
			t.Unseen++
		}
	}
	return &t
}

// toRow turns the findings of all repeats of one combination, and the verdict on
// them, into a row of result.json.
func toRow(f *check.Findings, v check.Verdict, want history.Expect, histories []string) result.Row {
	row := result.Row{
		Lock: f.Run.Lock, Scenario: f.Run.Scenario, Workload: f.Run.Workload, Repeats: f.Repeats,
		Verdict: result.Verdict{
			Status: string(v.Status), Safety: v.Safety, Liveness: v.Liveness, ShortFault: v.Liveness == check.Down && !f.DownLong, Why: v.Why, Reason: v.Reason,
			Expected: result.Expected{Safety: want.Safety, Liveness: want.Liveness, Outside: want.Availability.Outside, During: want.Availability.During},
		},
		MeasuredMS:   f.MeasuredNS / 1e6,
		OfferedPerS:  f.OfferedPS(),
		AchievedPerS: f.AchievedPS(),
		Availability: f.Availability(),
		Overlaps:     &f.Overlaps,
		LatencyMS:    quantiles(&f.Latency),
		AcquireMS:    quantiles(&f.Acquire),
		HoldMS:       quantiles(&f.Hold),
		FillMS:       quantiles(&f.Fill),
		HandoffMS:    quantiles(&f.Handoff),
		LatenessMS:   quantiles(&f.Lateness),
		Errors:       f.Errors,
		Hosts:        toHosts(f.Hosts),
		Faults:       toFaults(f.Faults),
		Histories:    histories,
		Played:       f.Run.Played,
	}
	for _, r := range f.Rates {
		row.RateAtFirst = f.Run.OfferedPS
		row.Rates = append(row.Rates, result.Rate{AtMS: ms(r.AtNS), PerS: r.PerS})
	}
	if f.HasRooms {
		row.Matches, row.RoomsCreated, row.DuplicatesPer1000 = f.Matches, &f.RoomsCreated, new(f.DuplicatesPer1000())
		row.Duplicates = &result.Duplicates{
			Total: f.Duplicates.Total(), Raced: f.Duplicates.Raced,
			Overlooked: f.Duplicates.Overlooked, Unreachable: f.Duplicates.Unreachable,
			Warmup: f.WarmupDuplicates.Unsafe(), Unclear: f.Doubts.Rooms,
		}
	}
	if _, writes := f.Counts["writes"]; writes {
		row.Measure("token_grants", float64(f.Tokens))
	}
	for field, n := range f.Counts {
		row.Measure(field, float64(n))
	}
	for _, at := range f.ViolationsNS {
		row.ViolationsAtMS = append(row.ViolationsAtMS, ms(at))
	}
	row.AvailabilityOutside, row.AvailabilityDuring, row.AvailabilityInForce = share(f.Outside), share(f.During), share(f.InForce)
	if f.MeasuredNS > 0 {
		row.StallMS = new(ms(f.Longest.NS))
	}
	measureStall(&row, f, f.Longest, result.StallBefore, result.StallOpen)
	if f.Longest.Of != "" { // else it is the same
		row.Measure(result.LockStallField, ms(f.Whole.NS))
		measureStall(&row, f, f.Whole, result.LockStallBefore, result.LockStallOpen)
	}
	if f.InZone.Of != "" {
		row.ZoneStallMS, row.ZoneStalled = new(ms(f.InZone.NS)), f.InZone.Of
		measureStall(&row, f, f.InZone, result.ZoneStallBefore, result.ZoneStallOpen)
	}
	if f.RecoveryNS >= 0 && !f.NotRecovered {
		row.RecoveryMS = new(ms(f.RecoveryNS))
	}
	row.NotRecovered, row.StallResource, row.LivenessResource = f.NotRecovered, f.Longest.Of, f.Stuck.Of
	if share, asked := f.Acquired(); asked {
		row.Acquired = &share
	}
	if f.ZombieNS > 0 {
		row.ZombieMS, row.ZombieSince = new(ms(f.ZombieNS)), result.SinceClient
		if f.ServerGrants {
			row.ZombieSince = result.SinceServer
		}
	}
	if f.Run.RTTNS > 0 {
		row.RTTMS = new(ms(f.Run.RTTNS))
	}
	if f.Run.RTTNS > 0 && f.Acquire.Count() > 0 {
		row.AcquireRTT = new(float64(f.Acquire.Quantile(0.5)) / float64(f.Run.RTTNS))
	}
	row.GrantsPerS, row.HandoffsPerS = known(f.Own.PerS()), known(f.One.PerS())
	if ns, ok := f.Own.CPUPerGrantNS(); ok {
		row.CPUUSPerGrant = new(ns / 1e3)
	}
	if messages, ok := f.MessagesPerAcquire(); ok {
		row.MessagesPerAcquire = &messages
	}
	row.WakeupsPerHandoff, row.MessagesPerHandoff = perHandoff(f, f.Wakeups, f.HasWakeups), perHandoff(f, f.MessagesSent, f.HasMessages)
	if f.Fairness > 0 {
		row.Fairness = &f.Fairness
	}
	if f.PeerFairness > 0 {
		row.PeerFairness = &f.PeerFairness
	}
	return row
}

// perHandoff is absent where the lock does not count it, or nothing was handed over.
func perHandoff(f *check.Findings, n int64, counted bool) *float64 {
	each, measured := f.PerHandoff(n)
	if !counted || !measured {
		return nil
	}
	return &each
}

// measureStall tells what of a stall no fault is to blame for, and whether it went on.
func measureStall(row *result.Row, f *check.Findings, s check.Stall, before, open string) {
	if len(f.Faults) > 0 {
		row.Measure(before, ms(s.BeforeNS))
	}
	if s.Open {
		row.Measure(open, 1)
	}
}

// share is absent where nothing was to be served.
func share(s check.Served) *float64 {
	if s.All == 0 {
		return nil
	}
	return new(s.Share())
}

// toPeers lists how the masters fared, the highest priority first, if the topology is
// known: it may be nil.
func toPeers(found []check.Peer, topo *topology.Topology) []result.Peer {
	var peers []result.Peer
	for i := range found {
		p := &found[i]
		out := result.Peer{
			Node: p.Node, Acquires: p.Acquires, GaveUp: p.GaveUp, WaitMS: quantiles(&p.Wait),
			BypassMax: p.BypassMax, BypassMean: p.BypassMean(), BypassInARowMax: p.InARowMax,
		}
		if topo == nil {
			peers = append(peers, out)
			continue
		}
		if rank, known := topo.Rank(p.Node); known {
			out.Rank, out.Zone = &rank, topo.NodesOf(role.Master)[rank].Zone
		}
		peers = append(peers, out)
	}
	slices.SortStableFunc(peers, func(a, b result.Peer) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	return peers
}

// rankOf puts nodes that the topology does not know last.
func rankOf(p result.Peer) int {
	if p.Rank == nil {
		return math.MaxInt
	}
	return *p.Rank
}

// toNodes lists what the nodes used; topo may be nil.
func toNodes(found []check.NodeUsage, topo *topology.Topology) []result.NodeLoad {
	var nodes []result.NodeLoad
	for i := range found {
		u := &found[i]
		n := result.NodeLoad{Node: u.Node}
		if cpus, known := u.CPUs(); known {
			n.CPUs, n.CPUsMax = &cpus, &u.CPUMax
		}
		if u.MemoryMaxBytes > 0 {
			n.MemoryMaxMiB = new(float64(u.MemoryMaxBytes) / (1 << 20))
		}
		if seconds := time.Duration(u.LinkedNS).Seconds(); seconds > 0 {
			n.InBytesPerS, n.OutBytesPerS = new(float64(u.InBytes)/seconds), new(float64(u.OutBytes)/seconds)
		}
		if topo != nil {
			if placed, known := topo.Node(u.Node); known {
				n.Role, n.Zone = placed.Role, placed.Zone
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// toHosts lists what the machines had to do.
func toHosts(found []check.HostLoad) []result.HostLoad {
	var hosts []result.HostLoad
	for _, h := range found {
		known := func(v float64, is bool) *float64 {
			if !is {
				return nil
			}
			return &v
		}
		var fsync *float64
		if h.Sum.FsyncNS != nil {
			fsync = new(ms(*h.Sum.FsyncNS))
		}
		hosts = append(hosts, result.HostLoad{
			Host: cmp.Or(h.Host, result.ControllerHost), CPUs: h.Sum.CPUs,
			CPUBusy: known(h.Busy()), CPUOthers: known(h.Others()), CPUBusyMax: known(h.BusyMax, h.BusyMax >= 0), PressureSome: known(h.Pressure()),
			ThrottledCPUs: known(h.Throttled()), Slowdown: known(h.Slowdown()), LateWakeMS: ms(h.Sum.LateNS), FsyncMaxMS: fsync, Saturated: h.Saturated,
		})
	}
	return hosts
}

func toFaults(ledger []check.Fault) []result.Fault {
	var faults []result.Fault
	for _, f := range ledger {
		faults = append(faults, result.Fault{
			Kind: f.Kind, Target: f.Target, Proven: f.Proven, Log: f.Log, From: f.From, To: f.To, Nodes: f.Nodes,
			AskedMS: ms(f.AskedNS), BeganMS: ms(f.BeganNS), EndedMS: ms(f.EndedNS), KeptMS: ms(f.KeptNS),
		})
	}
	return faults
}

func quantiles(d *check.Dist) *result.Quantiles {
	if d.Count() == 0 {
		return nil
	}
	return &result.Quantiles{P50: ms(d.Quantile(0.5)), P99: ms(d.Quantile(0.99)), P999: ms(d.Quantile(0.999)), Max: ms(d.Max())}
}

// ms is nanoseconds as milliseconds.
func ms(ns int64) float64 {
	if ns == -1 || ns == check.Never {
		return result.Never
	}
	return float64(ns) / float64(time.Millisecond)
}

// known is a figure, or nil where there is none.
func known(value float64, ok bool) *float64 {
	if !ok {
		return nil
	}
	return &value
}
