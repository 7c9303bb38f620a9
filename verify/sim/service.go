package sim

import (
	"slices"
	"time"
)

// Voters is how many servers the computed lock service has.
const Voters = 5

// ServiceName is what [Service] is called beside the locks.
const ServiceName = "service of 5 (computed)"

// Service is what a lock service would cost in place of peers that agree among
// themselves: five servers in the zones, of which a leader gets every request and
// answers when a majority has it on record. It is computed from the delays alone,
// without queues, disks or jitter: a lower bound to compare with, not a measurement.
// The servers stand in the zones in turn; the leader is where its followers are near.
func Service(peers, zones int) Point {
	delay := spreadOver(zones, peers)
	z := len(delay)
	commits := func(leader int) time.Duration {
		var rtts []time.Duration
		for v := range Voters {
			if v != leader {
				rtts = append(rtts, delay[leader%z][v%z]+delay[v%z][leader%z])
			}
		}
		slices.Sort(rtts)
		return rtts[Voters/2-1]
	}
	leader := 0
	for v := range Voters {
		if commits(v) < commits(leader) {
			leader = v
		}
	}
	commit := commits(leader)
	at := leader % z
	var acquire, handoff Hist
	asks := contenders(peers, zones)
	for i, a := range asks {
		if a == 0 {
			continue
		}
		acquire.Add(delay[i%z][at] + commit + delay[at][i%z])
		for j, b := range asks {
			if b > 0 && (i != j || peers == 1) {
				handoff.Add(delay[i%z][at] + commit + delay[at][j%z])
			}
		}
	}
	// Asking and releasing each take a request, an answer, and an entry to every
	// follower that it acknowledges.
	const messages = 2 * (2 + 2*(Voters-1))
	return Point{
		Lock: ServiceName, Peers: peers, Zones: zones, Messages: messages, MessagesContended: messages,
		Acquire: spreadOf(&acquire), Handoff: spreadOf(&handoff),
	}
}
