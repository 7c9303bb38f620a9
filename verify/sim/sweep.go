package sim

import (
	"strconv"
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
	// Rounds are the same of each of its rounds, which differ by chance alone; none of what is computed.
	Rounds []Point `json:"-"`
}

// Spread is some figures of a distribution, in nanoseconds.
type Spread struct {
	Mean time.Duration `json:"mean"`
	P50  time.Duration `json:"p50"`
	P99  time.Duration `json:"p99"`
	Max  time.Duration `json:"max"`
}

func spreadOf(h *Hist) Spread {
	return Spread{Mean: h.Mean(), P50: h.Quantile(0.5), P99: h.Quantile(0.99), Max: h.Max}
}

// Contenders is how many peers want the lock in a sweep, or all if there are fewer.
const Contenders = 10

// sweepOps is how many acquisitions each contender makes in each of the two runs of a round.
const sweepOps = 20

// Rounds is how often each point is measured, each time with other delays, arrivals and ties: a
// difference between locks that not all rounds show may be chance.
const Rounds = 6

// Measure runs the lock with nothing broken, in rounds: in each once with hardly ever two who want it at
// once, once with ten who always do. Each holds for a millisecond. The peers are dealt
// over all zones, and so are those who want the lock.
func Measure(sim Simulator, peers, zones int, s seed.Seed) (Point, error) {
	var free, busy Totals
	var rounds []Point
	for n := range Rounds {
		one, other, err := round(sim, peers, zones, s.Child("round "+strconv.Itoa(n)))
		if err != nil {
			return Point{}, err
		}
		rounds = append(rounds, pointOf(peers, zones, &one.Totals, &other.Totals))
		free.Merge(&one.Totals)
		busy.Merge(&other.Totals)
	}
	p := pointOf(peers, zones, &free, &busy)
	p.Rounds = rounds
	return p, nil
}

func pointOf(peers, zones int, free, busy *Totals) Point {
	return Point{
		Peers: peers, Zones: zones,
		Messages: free.PerGrant(), Acquire: spreadOf(&free.Wait),
		MessagesContended: busy.PerGrant(), Contended: spreadOf(&busy.Wait), Handoff: spreadOf(&busy.Handoff),
	}
}

func round(sim Simulator, peers, zones int, s seed.Seed) (free, busy Result, err error) {
	cfg := Config{
		Peers: peers, Zones: min(zones, peers), Seed: s, Formed: true,
		Network: Network{Delay: spreadOver(zones, peers)},
		Load:    Load{Think: 5 * time.Minute, Hold: time.Millisecond, Ops: contenders(peers, zones)},
		// Everybody who is to ask does so within this time, almost surely.
		Duration: 5 * time.Minute * sweepOps * 10,
		Patience: time.Hour,
	}
	if free, err = sim.Run(cfg); err != nil {
		return free, busy, err
	}
	cfg.Load.Think = 0
	busy, err = sim.Run(cfg)
	return free, busy, err
}

// contenders picks ranks all over, the highest among them, in zones all over.
func contenders(peers, zones int) []int {
	ops := make([]int, peers)
	n, z := min(peers, Contenders), min(zones, peers)
	for i := range n {
		at := 0
		if n > 1 {
			at = i * (peers - 1) / (n - 1)
		}
		at += i*max(1, z/n)%z - at%z // rank r is in zone r modulo z
		if at >= peers {
			at -= z
		}
		for ops[at] > 0 {
			at = (at + 1) % peers
		}
		ops[at] = sweepOps
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
