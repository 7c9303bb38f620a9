package clock_test

import (
	"sync"
	"testing"

	"locklab/locks/clock"
)

func TestPreciseWakesAtItsTimeAndNeverEarly(t *testing.T) {
	p, err := clock.NewPrecise()
	if err != nil {
		t.Fatal(err)
	}
	start := clock.Mono()
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			deadline := start + int64(i%7)*300_000
			woken, cancel := p.After(deadline)
			<-woken
			if now := clock.Mono(); now < deadline {
				t.Errorf("woke %d ns before the deadline", deadline-now)
			}
			cancel()
		})
	}
	wg.Wait()
	const hour = 3_600_000_000_000
	never, cancel := p.After(start + hour)
	cancel()
	woken, _ := p.After(start + hour)
	p.Close()
	<-woken
	closed, _ := p.After(start + hour)
	<-closed
	if len(never) > 0 {
		t.Error("woken after it was cancelled")
	}
	p.Close() // a second Close does nothing
}

func BenchmarkPreciseLateness(b *testing.B) {
	p, err := clock.NewPrecise()
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	var late int64
	for b.Loop() {
		deadline := clock.Mono() + 500_000
		woken, _ := p.After(deadline)
		<-woken
		late += clock.Mono() - deadline
	}
	b.ReportMetric(float64(late)/float64(b.N), "ns-late/op")
}
