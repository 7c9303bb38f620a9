package lab

import (
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
	pairs := c.plan.hostPairs(true)
	if len(pairs) == 0 {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for {
		took, complete := c.roundTrips(ctx, pairs)
		if complete || ctx.Err() != nil {
			if len(took) == 0 {
				return 0
			}
			slices.Sort(took)
			return took[len(took)/2]
		}
		_ = clock.Sleep(ctx, 20*time.Millisecond) // the end of ctx is looked at above
	}
}

func shortest(of []link.RTT) time.Duration {
	least := of[0].Took
	for _, r := range of {
		least = min(least, r.Took)
	}
	return least
}

// roundTrips collects what the probes of the pairs measured.
func (c *cluster) roundTrips(ctx context.Context, pairs [][2]string) (took []time.Duration, complete bool) {
	reports := map[string]link.Report{}
	for _, pair := range pairs {
		if _, have := reports[pair[0]]; have {
			continue
		}
		report, err := c.machine(pair[0]).links.Probes(ctx)
		if err != nil {
			return nil, false
		}
		reports[pair[0]] = report
	}
	complete = true
	for _, pair := range pairs {
		peers := reports[pair[0]].Peers
		i := slices.IndexFunc(peers, func(p link.PeerReport) bool { return p.To == pair[1] })
		if i < 0 || len(peers[i].RTTs) < samplesPerPair {
			complete = false
			continue
		}
		took = append(took, shortest(peers[i].RTTs))
	}
	return took, complete
}
