package link

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	var p pace
	at := func(now, want time.Duration) {
		t.Helper()
		if got := p.interval(int64(now)); got != want {
			t.Errorf("after %v: probes every %v, want %v", now, got, want)
		}
	}
	at(0, idleInterval)
	if !p.watch(0) || p.watch(0) {
		t.Error("the first who asks makes probes come faster, the second does not")
	}
	at(watchFor-1, watchedInterval)
	at(watchFor, idleInterval)
	p.hurry(int64(10*time.Second), fastInterval)
	if p.watch(int64(10 * time.Second)) {
		t.Error("who asks makes probes come faster than after a change")
	}
	at(10*time.Second+hurryFor-1, fastInterval)
	at(10*time.Second+hurryFor, watchedInterval)
	at(10*time.Second+watchFor, idleInterval)
	p.hurry(int64(20*time.Second), fastInterval)
	p.watch(int64(20*time.Second + hurryFor - 1))
	at(20*time.Second+hurryFor, fastInterval)
	at(20*time.Second+hurryFor+watchedInterval, watchedInterval)
}
