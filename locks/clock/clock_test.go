package clock_test

import (
	"sync"
	"testing"

	"locklab/locks/clock"
)

func TestPreciseWakesInOrderAndNeverEarly(t *testing.T) {
	p, err := clock.NewPrecise()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	start := clock.Mono()
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			deadline := start + int64(i%7)*300_000
			if !p.SleepUntil(deadline, nil) {
				t.Error("sleep ended early")
			}
			if now := clock.Mono(); now < deadline {
				t.Errorf("woke %d ns before the deadline", deadline-now)
			}
		})
	}
	wg.Wait()
}

func TestPreciseStopsAndCloses(t *testing.T) {
	p, err := clock.NewPrecise()
	if err != nil {
		t.Fatal(err)
	}
	far := clock.Mono() + int64(3_600_000_000_000)
	stop := make(chan struct{})
	results := make(chan bool, 2)
	go func() { results <- p.SleepUntil(far, stop) }()
	close(stop)
	if <-results {
		t.Error("a stopped sleep said that it slept to its end")
	}
	signal := make(chan struct{}, 1)
	signal <- struct{}{}
	if p.SleepUntil(far, signal) {
		t.Error("a sleep that a signal stopped said that it slept to its end")
	}
	go func() { results <- p.SleepUntil(far, nil) }()
	p.Close()
	if !<-results {
		t.Error("a sleep that Close ended said that it was stopped")
	}
	if !p.SleepUntil(far, nil) {
		t.Error("a closed Precise said that a sleep was stopped")
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
		p.SleepUntil(deadline, nil)
		late += clock.Mono() - deadline
	}
	b.ReportMetric(float64(late)/float64(b.N), "ns-late/op")
}
