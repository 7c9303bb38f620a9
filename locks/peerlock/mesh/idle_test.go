package mesh_test

import (
	"sync/atomic"
	"testing"
	"time"

	"locklab/locks/clock"
	"locklab/locks/peerlock/mesh"
)

// counter is a Handler that counts how often a reader was woken.
type counter struct {
	*recorder
	woken atomic.Int64
}

func (c *counter) Receive(l *mesh.Link, batch *mesh.Batch) error {
	c.woken.Add(1)
	return c.recorder.Receive(l, batch)
}

// every is a mesh that sends heartbeats so often, and gives nobody up.
func every(heartbeat time.Duration) func(*mesh.Config) {
	return func(c *mesh.Config) {
		c.Timing = mesh.Timing{Heartbeat: heartbeat, SilenceMin: patience, SilenceMax: patience}
	}
}

// TestIdlePeersHardlyWork counts what an idle connection costs: no more heartbeats than
// the time allows, and hardly a wake-up for those of the other side.
func TestIdlePeersHardlyWork(t *testing.T) {
	const heartbeat, n = 5 * time.Millisecond, 64
	began := clock.Mono()
	events := &counter{}
	conn, _, recorded, _ := byHand(t, func(c *mesh.Config) {
		every(heartbeat)(c)
		events.recorder, c.Handler = c.Handler.(*recorder), events
	})
	one := make([]byte, 1)
	for range n {
		if _, err := conn.Read(one); err != nil || one[0] != 0 {
			t.Fatalf("read %q, %v; want a heartbeat", one, err)
		}
		if _, err := conn.Write(one); err != nil { // one of ours for each, apart from each other
			t.Fatal(err)
		}
	}
	if most := (clock.Mono()-began)/int64(heartbeat) + 1; n > most {
		t.Errorf("%d heartbeats, want at most %d in that time", n, most)
	}
	if _, err := conn.Write(append([]byte{4}, "done"+string(make([]byte, 16))...)); err != nil {
		t.Fatal(err)
	}
	recorded.want("done")
	if woken, most := events.woken.Load(), int64(n/8); wakesRarely && woken > most {
		t.Errorf("%d heartbeats woke the reader %d times, want at most %d", n, woken, most)
	}
}

// TestHeartbeatsOnlyWhereNothingElseIsSaid talks all the time and counts heartbeats: there
// is one only for each long pause that the machine made.
func TestHeartbeatsOnlyWhereNothingElseIsSaid(t *testing.T) {
	const heartbeat, n = 60 * time.Millisecond, 100
	conn, link, _, m := byHand(t, every(heartbeat))
	pause := clock.System().NewTimer(0)
	defer pause.Stop()
	var excuses int64
	at := clock.Mono()
	for range n {
		<-pause.C()
		link.Send([]byte("x"))
		m.Flush()
		excuses += (clock.Mono() - at) / int64(heartbeat/4)
		at = clock.Mono()
		pause.Reset(5 * time.Millisecond)
	}
	link.Send([]byte("end"))
	m.Flush()
	frames, padding := map[byte]int64{}, int64(0)
	var last byte
	for one := make([]byte, 1); last != 'd'; last = one[0] {
		if _, err := conn.Read(one); err != nil {
			t.Fatal(err)
		}
		if one[0] == 'x' {
			padding += 15
		}
		frames[one[0]]++
	}
	if said := frames[0] - padding; said > excuses+2 {
		t.Errorf("%d heartbeats among %d payloads, want at most %d", said, frames['x'], excuses+2)
	}
	if frames['x'] != n {
		t.Errorf("%d payloads of %d", frames['x'], n)
	}
}

// TestSleepersHearPayloadsCutAnywhere keeps the end of what is sent back, as long as
// nobody would be woken for it: it must not hold any of the payload.
func TestSleepersHearPayloadsCutAnywhere(t *testing.T) {
	p := newPair(t, func(cfg *[2]mesh.Config) {
		for i := range cfg {
			cfg[i].Timing = mesh.Timing{Heartbeat: time.Hour, SilenceMin: 4 * time.Hour, SilenceMax: 4 * time.Hour}
		}
	})
	up := p.events[0].want("up").link
	p.events[1].want("up")
	p.link.Delay(15)
	for _, payload := range []string{"0123456789abcde", "0123456789abcdefghij", "0123456789abcdef"} {
		up.Send([]byte(payload))
		up.Flush()
		p.events[1].want(payload)
	}
}
