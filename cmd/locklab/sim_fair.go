package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/progress"
	"locklab/internal/sentence"
	"locklab/locks/multiphase"
	"locklab/verify/sim"
)

// fairRow is one lock in one network under saturation.
type fairRow struct {
	Network   string  `json:"network"`
	Lock      string  `json:"lock"`
	Grants    uint64  `json:"grants"`
	Overlaps  int     `json:"overlaps"`
	Jain      float64 `json:"jain"`
	BypassMax uint64  `json:"bypass_max"`
	Highest   simRank `json:"highest"`
	Lowest    simRank `json:"lowest"`
	Truncated int     `json:"truncated,omitempty"` // runs that --max-events ended
}

// fairSeeds are as many as each lock is simulated with in each network.
const fairSeeds = 100

// fairNetworks are where the locks are compared: evenly, where the highest rank is far
// from all others, and where messages of different senders overtake each other often.
func fairNetworks(peers int) []struct {
	name, what string
	network    sim.Network
} {
	even := make([][]time.Duration, peers)
	far := make([][]time.Duration, peers)
	const near, away = 500 * time.Microsecond, 10 * time.Millisecond
	for a := range peers {
		even[a], far[a] = make([]time.Duration, peers), make([]time.Duration, peers)
		for b := range peers {
			even[a][b], far[a][b] = near, near
			if (a == 0) != (b == 0) {
				far[a][b] = away
			}
		}
	}
	return []struct {
		name, what string
		network    sim.Network
	}{
		{"even", "0.5 ms between any two, jitter 20%", sim.Network{Delay: even, Jitter: 0.2}},
		{"far", "the highest rank is 10 ms from all others, jitter 20%", sim.Network{Delay: far, Jitter: 0.2}},
		{"wild", "0.5 ms between any two, jitter 1000%", sim.Network{Delay: even, Jitter: 10}},
	}
}

// runFairness saturates the lock and those it is compared with, in several networks.
func (f *simFlags) runFairness(ctx context.Context, l catalog.Lock, plan sim.Plan, stdout io.Writer) error {
	texts := []string{l.String()}
	readings := []string{"multiphase:fair=off", "multiphase:fair=on", "multiphase:rule=literal"} // of which fairVerdict speaks
	for _, other := range append(readings, catalog.PeerNames()...) {
		if other != texts[0] && other != multiphase.Name && (texts[0] != multiphase.Name || other != "multiphase:fair=on") {
			texts = append(texts, other)
		}
	}
	if f.peers > sim.MaxZones {
		return fmt.Errorf("--peers: %d: want 2 to %d with --fairness", f.peers, sim.MaxZones)
	}
	plan.Kinds, plan.Holds = nil, nil
	plan.Config.Zones = plan.Config.Peers
	plan.Config.Formed = true
	plan.Config.Load.Think, plan.Config.Load.GiveUp = 0, 0
	plan.Seeds = min(plan.Seeds, fairSeeds)
	var rows []fairRow
	for _, n := range fairNetworks(plan.Config.Peers) {
		for _, text := range texts {
			l, err := catalog.ParsePeers(text)
			if err != nil {
				return err
			}
			plan.Config.Network = n.network
			o, err := sim.Campaign(ctx, l.Core.Simulator, plan)
			if err != nil {
				return err
			}
			if ctx.Err() != nil {
				return &exitError{code: exitInterrupted, err: ctx.Err()}
			}
			rows = append(rows, fairRowOf(n.name, text, o))
		}
	}
	if f.asJSON {
		if err := writeJSON(stdout, rows); err != nil {
			return err
		}
	} else {
		f.fairText(stdout, l, plan, rows)
	}
	if n := truncated(rows); n > 0 {
		return &exitError{code: exitInconclusive, err: fmt.Errorf("--max-events ended %s before a verdict", some(n, "run"))}
	}
	return nil
}

// truncated counts the runs that --max-events ended.
func truncated(rows []fairRow) (n int) {
	for _, r := range rows {
		n += r.Truncated
	}
	return n
}

func fairRowOf(network, lock string, o sim.Outcome) fairRow {
	t := &o.Totals
	ranks := ranksOf(t)
	row := fairRow{Network: network, Lock: lock, Grants: t.Grants, Jain: t.Jain(), BypassMax: t.MaxBypass(), Truncated: t.Truncated, Highest: ranks[0], Lowest: ranks[len(ranks)-1]}
	for _, g := range o.Groups {
		if g.Example.Kind == sim.Overlap {
			row.Overlaps += g.Count
		}
	}
	return row
}

func (f *simFlags) fairText(out io.Writer, l catalog.Lock, plan sim.Plan, rows []fairRow) {
	width, _ := progress.Width(out)
	w := new(strings.Builder)
	n := plan.Config.Peers
	fmt.Fprintf(w, "Who is served when everybody always wants the lock: %s, hold %v, seeds %d to %d, in each clients ask for %v of virtual time.\n",
		some(n, "peer"), plan.Config.Load.Hold, uint64(plan.Config.Seed), uint64(plan.Config.Seed)+uint64(plan.Seeds)-1, sentence.Lasting(plan.Config.Duration))
	if cut := truncated(rows); cut > 0 {
		fmt.Fprintf(w, "But %s of %d ended before that, by --max-events: nothing is said of what they did not come to.\n", some(cut, "run"), len(rows)*plan.Seeds)
	}
	fmt.Fprintf(w, "Passed: grants to others while one peer waits once. The debt rule (fair=on) bounds the acquisitions among the peers in that time to 2(N-1) = %d.\n", 2*(n-1))
	if l.Core.Cohort {
		fmt.Fprintf(w, "Each of them serves a cohort of %s, several of a peer's clients, and each of these counts: that has no such bound.\n", l)
	}
	for _, network := range fairNetworks(n) {
		fmt.Fprintf(w, "\n%s: %s\n", network.name, network.what)
		fair := textTable{keys: 1, breaks: []int{5}}
		fair.row("  lock", "grants", "overlaps", "Jain", "passed, most", "highest: grants", "wait p50", "p99", "lowest: grants", "wait p50", "p99")
		for _, r := range rows {
			if r.Network != network.name {
				continue
			}
			cells := []string{"  " + r.Lock, fmt.Sprint(r.Grants), fmt.Sprint(r.Overlaps), fmt.Sprintf("%.4f", r.Jain), fmt.Sprint(r.BypassMax)}
			for _, k := range []simRank{r.Highest, r.Lowest} {
				cells = append(cells, fmt.Sprint(k.Grants), fmt.Sprintf("%.2f", k.WaitMS.P50), fmt.Sprintf("%.2f", k.WaitMS.P99))
			}
			fair.row(cells...)
		}
		fair.write(w, width)
	}
	fairVerdict(w, l.String(), rows, 2*uint64(n-1))
	fmt.Fprintf(w, "\nwaits in ms. A simulation shows how likely a long wait is, not that there is none longer: locklab explore proves bounds.\n")
	_, _ = io.WriteString(out, folded(out, w.String()))
}

// fairVerdict says what the rows tell about the claim that fixed priorities keep
// everybody from starving, under each reading of the rules, and of the lock that was asked for.
func fairVerdict(w io.Writer, asked string, rows []fairRow, bound uint64) {
	fmt.Fprintf(w, "\nDo fixed priorities keep everybody from starving?\n")
	type reading struct{ lock, reading string }
	readings := []reading{
		{"multiphase:rule=literal", "the list's rule for LockReset, with the debt rule"},
		{"multiphase:fair=off", "the flow of the rules, as described"},
		{"multiphase", "the flow and the debt rule (fair=on)"},
	}
	if asked != "multiphase:fair=on" && !slices.ContainsFunc(readings, func(r reading) bool { return r.lock == asked }) {
		readings = append(readings, reading{asked, asked})
	}
	for _, r := range readings {
		most, overlaps, cut := uint64(0), 0, 0
		for _, row := range rows {
			if row.Lock == r.lock || r.lock == "multiphase" && row.Lock == "multiphase:fair=on" {
				most, overlaps, cut = max(most, row.BypassMax), overlaps+row.Overlaps, cut+row.Truncated
			}
		}
		verdict := fmt.Sprintf("nobody was passed more than %d times, within 2(N-1) = %d", most, bound)
		if cut > 0 {
			verdict = fmt.Sprintf("undecided, as --max-events ended %s: nobody was passed more than %d times until then", some(cut, "run"), most)
		}
		if most > bound {
			verdict = fmt.Sprintf("no: somebody was passed %d times, more than 2(N-1) = %d", most, bound)
		}
		if overlaps > 0 {
			verdict += fmt.Sprintf("; but it is unsafe: %s", some(overlaps, "overlap"))
		}
		fmt.Fprintf(w, "  %s: %s\n", r.reading, verdict)
	}
}
