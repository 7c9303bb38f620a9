package chaos_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"locklab/chaos/link"
	"locklab/internal/must"
	"locklab/locks/clock"
)

// lab is a stage with real links, controlled over HTTP.
func lab(t *testing.T) *stage {
	t.Helper()
	s := newStage()
	s.config.ProofTime = 10 * time.Second // a busy machine is slow, not wrong
	clients, echo := map[string]*link.Client{}, map[string]string{}
	for _, h := range s.config.Inventory.Hosts {
		c := link.DefaultConfig()
		c.Host, c.Seed = h.Name, 1
		host, err := link.NewHost(c)
		must.Do(t, err)
		t.Cleanup(host.Close)
		server := httptest.NewServer(host.Handler())
		t.Cleanup(server.Close)
		clients[h.Name] = link.NewClient(server.URL, "")
		t.Cleanup(clients[h.Name].Disconnect)
		s.config.Links[h.Name], echo[h.Name] = clients[h.Name], host.EchoAddr()
	}
	// Masters dial each other, and master-c dials redis-a; redis dials nobody.
	for _, pair := range [][2]string{{"a1", "c1"}, {"c1", "a1"}, {"a1", "a2"}, {"c1", "a2"}} {
		delay := link.Latency{Delay: 300 * time.Microsecond}
		spec := link.Spec{Name: "probe " + pair[1], ToHost: pair[1], Upstream: echo[pair[1]], Up: delay, Down: delay}
		if _, err := clients[pair[0]].Open(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	s.begin, s.end = cutZoneA(s.config.Links)
	return s
}

// TestFaultsOfLinksAreProven through real sockets. The delays are such that a busy machine
// cannot hide them; how small a one can be proven is for TestFaults.
func TestFaultsOfLinksAreProven(t *testing.T) {
	for name, step := range map[string]string{
		"hold":      "fault: partition, between: [zone:a, others], mode: hold",
		"drop":      "fault: partition, between: [zone:a, zone:c], mode: drop",
		"reset":     "fault: partition, between: [zone:a, others], mode: reset",
		"one way":   "fault: partition, from: zone:a, to: others, mode: hold",
		"other way": "fault: partition, from: others, to: zone:a, mode: drop",
		"latency":   "fault: latency, between: [zones], delay: 80ms, jitter: 5ms",
		"one delay": "fault: latency, from: zone:c, to: zone:a, delay: 150ms",
		"jitter":    "fault: jitter, between: [zones], jitter: 200ms",
		"flaky":     "fault: flaky, between: [zones], loss: 0.3, stall: 500ms",
		"bandwidth": "fault: bandwidth, between: [zones], bytes_per_s: 500",
		"zone":      "fault: zone-failure, target: \"zone:a\", lose_data: [redis]",
		"external":  "fault: external, target: \"zone:a\", run: [fis, a, partition], effect: partition",
	} {
		t.Run(name, func(t *testing.T) {
			s, start := lab(t), clock.Mono()
			ledger, err := s.run(t.Context(), t, "  - {at: 200ms, for: 500ms, id: f, "+step+"}", 20*time.Second)
			if err != nil || len(ledger) != 1 || !proven(ledger) {
				t.Fatalf("ledger %+v, %v; want one proven fault", ledger, err)
			}
			e := ledger[0]
			if start >= e.asked || e.asked > e.began || e.began >= e.healAsked || e.healAsked > e.ended {
				t.Fatalf("out of order: %+v", e)
			}
			if got, want := s.states("f"), "asked began heal-asked ended"; got != want {
				t.Fatalf("recorded %v, want %s", got, want)
			}
		})
	}
}
