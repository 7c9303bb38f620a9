package lab

import (
	"cmp"
	"context"
	"slices"
	"time"

	"locklab/chaos/link"
	"locklab/locks/clock"
)

// samplesPerPair is how many round trips of each pair of hosts are looked at.
const samplesPerPair = 3

// measureRTT is the round trip from the masters to the hosts that their lock talks to, as
// the probes on the links see it: the median of the pairs, and of each pair the shortest,
// because servers are still starting beside the probes. It waits until the probes have
// enough samples, but not for ever; 0 if the lock talks to no host.
func (c *cluster) measureRTT(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	pairs := c.plan.hostPairs(true)
	for {
		var took []time.Duration
		for _, pair := range pairs {
			report, err := c.machine(pair[0]).links.Probes(ctx)
			i := slices.IndexFunc(report.Peers, func(p link.PeerReport) bool { return p.To == pair[1] })
			if err == nil && i >= 0 && len(report.Peers[i].RTTs) >= samplesPerPair {
				shortest := slices.MinFunc(report.Peers[i].RTTs, func(a, b link.RTT) int { return cmp.Compare(a.Took, b.Took) })
				took = append(took, shortest.Took)
			}
		}
		if len(took) == len(pairs) || ctx.Err() != nil {
			if len(took) == 0 {
				return 0
			}
			slices.Sort(took)
			return took[len(took)/2]
		}
		_ = clock.Sleep(ctx, 20*time.Millisecond) // the end of ctx is looked at above
	}
}
