package fault_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"locklab/chaos/fault"
	"locklab/chaos/link"
	"locklab/internal/seed"
)

// probeEvery is how often hosts probe each other here.
const probeEvery = 5 * time.Millisecond

// network is links whose probes see a delay on some of the ordered pairs: each chunk draws
// its own, and none overtakes another. The hosts' clocks differ.
type network struct {
	hosts   []string
	hit     func(fault.Pair) bool
	delay   func(*rand.Rand) time.Duration
	draw    *rand.Rand
	usual   time.Duration // one way
	offsets map[string]time.Duration
}

// reports are those of probes that were sent in the time before now.
func (n network) reports(now, since int64, hit bool) fault.Reports {
	all := fault.Reports{}
	arrived := map[fault.Pair]int64{}
	way := func(p fault.Pair, at int64, back bool) int64 {
		took := n.usual + time.Duration(n.draw.Int64N(int64(100*time.Microsecond)))
		if hit && n.hit(p) {
			took += n.delay(n.draw)
		}
		queue := p
		if back {
			queue.From += " answers"
		}
		arrived[queue] = max(arrived[queue], at+int64(took))
		return arrived[queue]
	}
	for _, x := range n.hosts {
		r := fault.Report{At: now, Report: link.Report{Host: x}}
		for _, y := range n.hosts {
			if x == y {
				continue
			}
			peer := link.PeerReport{To: y}
			for at := since; at < now; at += int64(probeEvery) {
				peer.Sent++
				there := way(fault.Pair{From: x, To: y}, at, false)
				back := way(fault.Pair{From: y, To: x}, there, true)
				if back <= now {
					peer.RTTs = append(peer.RTTs, link.RTT{
						SentAge: time.Duration(now - at), Took: time.Duration(back - at),
						There: time.Duration(there-at) + n.offsets[y] - n.offsets[x],
					})
				}
			}
			r.Peers = append(r.Peers, peer)
		}
		all[x] = r
	}
	return all
}

// TestEveryOrderedPairIsProven: a fault that bites everywhere is proven, and one that spares
// more than the stated share of what it should hit is not: of delays a single ordered pair,
// though each of its round trips is slowed by the other way.
func TestEveryOrderedPairIsProven(t *testing.T) {
	outer := t
	even := func(jitter time.Duration) func(*rand.Rand) time.Duration {
		return func(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(jitter))) }
	}
	fixed := func(d time.Duration) func(*rand.Rand) time.Duration {
		return func(*rand.Rand) time.Duration { return d }
	}
	for text, c := range map[string]struct {
		delay   func(*rand.Rand) time.Duration
		partial bool // more than one of ten pairs must be spared to be refused
	}{
		"latency, delay: 50ms":              {fixed(50 * time.Millisecond), false},
		"latency, delay: 2ms, jitter: 20ms": {func(r *rand.Rand) time.Duration { return 2*time.Millisecond + even(20*time.Millisecond)(r) }, false},
		"bandwidth, bytes_per_s: 16000":     {fixed(link.ProbeTime(16000)), false},
		"jitter, jitter: 20ms":              {even(20 * time.Millisecond), true},
		"flaky, loss: 1, stall: 60ms":       {lost(1, 60*time.Millisecond), true},
		"flaky, loss: 0.3, stall: 100ms":    {lost(0.3, 100*time.Millisecond), true},
		"flaky, loss: 0.05, stall: 200ms":   {lost(0.05, 200*time.Millisecond), true},
	} {
		t.Run(text, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p, err := read(outer, text+", between: [zones]").Plan(context.Background(), "f", inventory(), resolver{})
				if err != nil {
					t.Fatal(err)
				}
				spared := rapid.SliceOfNDistinct(rapid.SampledFrom(p.Pairs), 0, len(p.Pairs), rapid.ID).Draw(t, "spared")
				n := network{
					hosts: []string{"a1", "a2", "b1", "c1"}, delay: c.delay, usual: 200 * time.Microsecond,
					draw:    seed.Seed(rapid.Uint64().Draw(t, "seed")).Rand(),
					hit:     func(p2 fault.Pair) bool { return slices.Contains(p.Pairs, p2) && !slices.Contains(spared, p2) },
					offsets: map[string]time.Duration{"a2": time.Hour, "b1": -time.Minute},
				}
				const start = int64(time.Minute)
				change := fault.NewChange(p, n.reports(start, start-int64(16*probeEvery), false), start, start)
				_, err = p.Proof.Begun(change, n.reports(start+int64(1500*time.Millisecond), start, true))
				proven := err == nil
				switch {
				case len(spared) == 0 && !proven:
					t.Fatalf("on all pairs, and not proven: %v", err)
				case len(spared) > 0 && !c.partial && proven:
					t.Fatalf("proven, and yet nothing was on %v", spared)
				case len(spared) > len(p.Pairs)/10 && proven:
					t.Fatalf("proven, and yet nothing was on %d of %d: %v", len(spared), len(p.Pairs), spared)
				}
			})
		})
	}
}

func lost(share float64, stall time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration {
		if r.Float64() < share {
			return stall
		}
		return 0
	}
}
