package link_test

import (
	"errors"
	"testing"
	"time"

	"locklab/chaos/link"
	"locklab/internal/must"
	"locklab/locks/locktest"
)

// pair is two hosts that probe each other through links with a base delay.
func pair(t testing.TB) (a, b *link.Host) {
	t.Helper()
	a, b = newHost(t, "a"), newHost(t, "b")
	delay := link.Latency{Delay: 200 * time.Microsecond}
	for _, x := range [][2]*link.Host{{a, b}, {b, a}} {
		to := x[1].Probes()
		if _, err := x[0].Open(link.Spec{Name: "probe", ToHost: to.Host, Upstream: to.Echo, Up: delay, Down: delay}); err != nil {
			t.Fatal(err)
		}
	}
	locktest.Eventually(t, "both hear each other", func() bool {
		return answered(a) > 0 && answered(b) > 0 && heardFrom(a) > 0 && heardFrom(b) > 0
	})
	return a, b
}

func answered(h *link.Host) uint64 { return h.Probes().Peers[0].Answered }
func sent(h *link.Host) uint64     { return h.Probes().Peers[0].Sent }
func heardFrom(h *link.Host) uint64 {
	heard := h.Probes().Heard
	if len(heard) == 0 {
		return 0
	}
	return heard[0].Sequence
}

func TestProbesTellALostRequestFromALostAnswer(t *testing.T) {
	a, b := pair(t)
	for _, r := range a.Probes().Peers[0].RTTs {
		if r.Took < 400*time.Microsecond {
			t.Errorf("round trip of %v through delays of 400 us", r.Took)
		}
	}

	apply(t, a, link.Impairment{ID: "cut", Effect: new(link.Hold), Direction: link.Up})
	from := standsStill(t, a, "b hears nothing", func() uint64 { return heardFrom(b) })
	heal(t, a, "cut")
	locktest.Eventually(t, "b hears again", func() bool { return heardFrom(b) > from })

	apply(t, a, link.Impairment{ID: "cut", Effect: new(link.Hold), Direction: link.Down})
	from = standsStill(t, a, "a gets no answers", func() uint64 { return answered(a) })
	locktest.Eventually(t, "b hears, although a gets no answers", func() bool { return heardFrom(b) > from+5 })
	heal(t, a, "cut")
	locktest.Eventually(t, "a gets answers again", func() bool { return answered(a) > from+5 })
}

// standsStill waits until the count has not changed while a sent ten probes: what was
// under way has arrived by then. It returns how many a has sent.
func standsStill(t *testing.T, a *link.Host, what string, count func() uint64) uint64 {
	t.Helper()
	was, from := count(), sent(a)
	locktest.Eventually(t, what, func() bool {
		switch now := count(); {
		case now != was:
			was, from = now, sent(a)
			return false
		default:
			return sent(a) > from+10
		}
	})
	return sent(a)
}

func TestProbesSurviveResets(t *testing.T) {
	a, b := pair(t)
	apply(t, a, link.Impairment{ID: "r", Effect: new(link.Reset)})
	from := sent(a)
	locktest.Eventually(t, "a tries on", func() bool { return sent(a) > from+3 })
	heard := heardFrom(b)
	heal(t, a, "r")
	locktest.Eventually(t, "b hears again", func() bool { return heardFrom(b) > heard })
}

// TestProbesThatNobodyLooksAtAreRare waits for a long pause, which ends when somebody
// looks. To ask b what it heard makes b's own probes frequent, not those of a.
func TestProbesThatNobodyLooksAtAreRare(t *testing.T) {
	a, b := pair(t)
	locktest.Eventually(t, "a probes less than once in a second", func() bool { return b.Probes().Heard[0].Age > time.Second })
	from := heardFrom(b)
	locktest.Eventually(t, "a probes often while its report is asked for", func() bool { return answered(a) > from+5 })
}

func TestBadRequestsAreRefused(t *testing.T) {
	h := newHost(t, "a")
	good := link.Impairment{ID: "i", Effect: new(link.Hold), Direction: link.Up}
	spec := link.Spec{Name: "l", ToHost: "b", ToNode: "b-1", Upstream: "127.0.0.1:1"}
	var addrs [2]string
	for n := range addrs { // requests can be repeated
		var err error
		addrs[n], err = h.Open(spec)
		must.Do(t, errors.Join(err, h.Apply(good)))
	}
	if addrs[0] != addrs[1] {
		t.Errorf("the same link at %q", addrs)
	}
	for name, i := range map[string]link.Impairment{
		"other settings": {ID: "i", Effect: new(link.Drop), Direction: link.Up},
		"no id":          {Effect: new(link.Hold), Direction: link.Up},
		"no direction":   {ID: "x", Effect: new(link.Hold)},
		"no kind":        {ID: "x", Direction: link.Up},
		"no delay":       {ID: "x", Effect: new(link.Latency), Direction: link.Up},
		"negative":       {ID: "x", Direction: link.Up, Effect: &link.Latency{Delay: -1}},
		"no rate":        {ID: "x", Effect: new(link.Bandwidth), Direction: link.Up},
		"no loss":        {ID: "x", Effect: &link.Flaky{Stall: 1}, Direction: link.Up},
	} {
		if err := h.Apply(i); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, s := range map[string]link.Spec{
		"no name": {ToHost: "b", Upstream: "127.0.0.1:1"}, "no host": {Name: "x", Upstream: "127.0.0.1:1"},
		"no port": {Name: "x", ToHost: "b", Upstream: "127.0.0.1"},
		"delay":   {Name: "x", ToHost: "b", Upstream: "127.0.0.1:1", Up: link.Latency{Delay: -1}},
	} {
		if _, err := h.Open(s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
