package link_test

import (
	"io"
	"sync"
	"testing"
	"time"

	"locklab/chaos/link"
)

// BenchmarkRoundTrips shows what one round trip costs in time and in CPU, with 16
// connections at once: the price that everything measured through links pays.
func BenchmarkRoundTrips(b *testing.B) {
	delay := link.Delay{Base: 250 * time.Microsecond, Jitter: 50 * time.Microsecond}
	for _, c := range []struct {
		name     string
		through  bool
		up, down link.Delay
	}{{"direct", false, link.Delay{}, link.Delay{}}, {"link", true, link.Delay{}, link.Delay{}}, {"delayed", true, delay, delay}} {
		b.Run(c.name, func(b *testing.B) {
			addr := serve(b, echo)
			if c.through {
				addr = open(b, newHost(b, "a"), link.Spec{Upstream: addr, Up: c.up, Down: c.down})
			}
			const conns = 16
			work := make(chan struct{})
			var wg sync.WaitGroup
			for range conns {
				conn := dial(b, addr)
				wg.Go(func() {
					buf := make([]byte, 64)
					for range work {
						if _, err := conn.Write(buf); err != nil {
							b.Error(err)
							return
						}
						if _, err := io.ReadFull(conn, buf); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			b.ResetTimer()
			busy := cpuTime(b)
			for b.Loop() {
				work <- struct{}{}
			}
			close(work)
			wg.Wait()
			b.ReportMetric(float64(cpuTime(b)-busy)/float64(b.N)/1000, "cpu-us/op")
		})
	}
}
