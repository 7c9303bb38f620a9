package sim

import (
	"time"

	"locklab/internal/seed"
)

// Point is what was measured of one lock with so many peers and zones.
type Point struct {
	Lock  string `json:"lock"`
	Peers int    `json:"peers"`
	Zones int    `json:"zones"`
	// Messages per acquisition, the release included: while nobody else wants the lock,
	// and while some do.
	Messages          float64 `json:"messages"`
	MessagesContended float64 `json:"messages_contended"`
	// Acquire is from asking to holding while nobody else wants the lock, Contended
	// while Contenders want it all the time, Handoff from a release to the next holder.
	Acquire   Spread `json:"acquire_ns"`
	Contended Spread `json:"contended_ns"`
	Handoff   Spread `json:"handoff_ns"`
}

// Contenders is how many peers want the lock in a sweep, or all if there are fewer.
const Contenders = 10

// sweepOps is how many acquisitions each contender makes in each of the two runs.
const sweepOps = 100

// Measure runs the lock with nothing broken: once with hardly ever two who want it at once, once with
// ten who always do. Each holds for a millisecond. The peers are dealt over all zones, and so are
// those who want the lock.
func Measure(sim Simulator, peers, zones int, s seed.Seed) Point {
	cfg := Config{
		Peers: peers, Zones: min(zones, peers), Seed: s, Formed: true,
		Network: Network{Delay: spreadOver(zones, peers)},
		Load:    Load{Think: 5 * time.Minute, Hold: time.Millisecond, Ops: contenders(peers)},
		// All who are to ask do so within this time, almost surely.
		Duration: 5 * time.Minute * sweepOps * 2,
		Patience: time.Hour,
	}
	free := sim(cfg)
	cfg.Load.Think = 0
	busy := sim(cfg)
	return Point{
		Peers: peers, Zones: zones,
		Messages: free.PerGrant(), Acquire: free.Wait().Spread(),
		MessagesContended: busy.PerGrant(), Contended: busy.Wait().Spread(), Handoff: busy.Handoff.Spread(),
	}
}

// contenders picks ranks all over, the highest and the lowest among them, and with them zones all over.
func contenders(peers int) []int {
	ops := make([]int, peers)
	n := min(peers, Contenders)
	for i := range n {
		ops[i*(peers-1)/max(n-1, 1)] = sweepOps
	}
	return ops
}

// spreadOver is the delays between the zones that the peers are in: if there are
// fewer peers than zones they are dealt over all of them.
func spreadOver(zones, peers int) [][]time.Duration {
	all := Geography(zones)
	n := min(zones, peers)
	at := func(i int) int { return i * zones / n }
	some := make([][]time.Duration, n)
	for i := range n {
		some[i] = make([]time.Duration, n)
		for j := range n {
			some[i][j] = all[at(i)][at(j)]
		}
	}
	return some
}
