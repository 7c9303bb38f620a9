package sim_test

import (
	"testing"
	"time"

	"locklab/locks/lamport"
	"locklab/locks/multiphase"
	"locklab/locks/ricartagrawala"
	"locklab/locks/sim"
	"locklab/locks/twophase"
)

// BenchmarkMessages runs ten saturated peers and reports messages per second of real
// time, sent and delivered, on one core.
func BenchmarkMessages(b *testing.B) {
	for _, bench := range []struct {
		name string
		sim  sim.Simulator
	}{
		{"multiphase", sim.New(multiphase.DefaultOptions().Algorithm(), sim.Shell{})},
		{"lamport", sim.New(lamport.Options{}.Algorithm(), sim.Shell{})},
		{"ricart-agrawala", sim.New(ricartagrawala.Options{}.Algorithm(), sim.Shell{})},
		{"2pc", sim.New(twophase.Options{}.Algorithm(), sim.Shell{Pause: time.Millisecond})},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			var messages, grants uint64
			cfg := sim.Config{Peers: 10, Zones: 3, Duration: 20 * time.Second, Load: sim.Load{Think: time.Millisecond, Hold: time.Millisecond}}
			for b.Loop() {
				cfg.Seed++
				r, err := bench.sim.Run(cfg)
				if err != nil {
					b.Fatal(err)
				}
				if bad := r.Bad(); bad != nil {
					b.Fatal(bad)
				}
				messages += r.Messages
				grants += r.Grants
			}
			b.ReportMetric(float64(messages)/b.Elapsed().Seconds(), "msgs/s")
			b.ReportMetric(float64(messages)/float64(grants), "msgs/grant")
			b.ReportMetric(0, "ns/op")
		})
	}
}
