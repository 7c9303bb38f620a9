package zklock

import (
	"testing"
	"time"

	"locklab/locks/clock"
)

// TestBelieved: a session is not counted from a renewal that the leader may never hear of.
func TestBelieved(t *testing.T) {
	const granted = 3 * time.Second
	start := time.Unix(0, 0)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	l := &Locker{clock: clock.System()}
	s := &session{wire: &wire{dialed: start}, open: make(chan struct{}), lost: make(chan struct{})}
	if l.extend(s, start) {
		t.Error("extended before the servers granted anything")
	}
	s.wire.granted.Store(int64(granted))
	for _, c := range []struct{ asked, want time.Duration }{
		{0, 2400 * time.Millisecond},
		{500 * time.Millisecond, 2850 * time.Millisecond},
		{time.Second, 3350 * time.Millisecond},
		// The client stood still: its server may die with the news of this renewal.
		{3500 * time.Millisecond, 3850 * time.Millisecond},
		{4 * time.Second, 6350 * time.Millisecond},
	} {
		if !l.extend(s, at(c.asked)) {
			t.Fatal("not extended")
		}
		if got := l.ends(s).Sub(start); got != c.want {
			t.Errorf("asked at %v: believed until %v, want %v", c.asked, got, c.want)
		}
	}
}

// TestTheFirstRenewal that comes long after the session was opened counts from there.
func TestTheFirstRenewal(t *testing.T) {
	const granted = 3 * time.Second
	start := time.Unix(0, 0)
	l := &Locker{clock: clock.System()}
	s := &session{wire: &wire{dialed: start}, open: make(chan struct{}), lost: make(chan struct{})}
	s.wire.granted.Store(int64(granted))
	if !l.extend(s, start.Add(2*time.Second)) {
		t.Fatal("not extended")
	}
	if got, want := l.ends(s).Sub(start), granted-granted/20; got != want {
		t.Errorf("believed until %v, want %v", got, want)
	}
}
