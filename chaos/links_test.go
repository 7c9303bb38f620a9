package chaos_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/chaos"
	"locklab/chaos/link"
	"locklab/chaos/scenario"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// lab is three hosts in two zones with real links, controlled over HTTP.
func lab(t *testing.T) (chaos.Config, *recorder) {
	t.Helper()
	rec, processes := &recorder{}, newNodes("master-a", "redis-a", "master-c")
	config := chaos.DefaultConfig()
	config.Inventory = chaos.Inventory{
		Hosts: []chaos.Host{{Name: "a1", Zone: "a"}, {Name: "a2", Zone: "a"}, {Name: "c1", Zone: "c"}},
		Nodes: []chaos.Node{
			{Name: "master-a", Role: "master", Host: "a1"},
			{Name: "redis-a", Role: "redis", Host: "a2"},
			{Name: "master-c", Role: "master", Host: "c1"},
		},
	}
	config.Links, config.Nodes, config.Resolver, config.Recorder = map[string]chaos.LinkControl{}, processes, processes, rec
	config.ProofTime = 10 * time.Second // a busy machine is slow, not wrong
	clients := map[string]*link.Client{}
	echo := map[string]string{}
	for _, h := range config.Inventory.Hosts {
		c := link.DefaultConfig()
		c.Host, c.Seed = h.Name, 1
		host, err := link.NewHost(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(host.Close)
		server := httptest.NewServer(host.Handler())
		t.Cleanup(server.Close)
		clients[h.Name] = &link.Client{Base: server.URL, HTTP: server.Client()}
		config.Links[h.Name] = clients[h.Name]
		info, err := clients[h.Name].Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		echo[h.Name] = info.Echo
	}
	// Masters dial each other, and master-c dials redis-a; redis dials nobody.
	for _, pair := range [][2]string{{"a1", "c1"}, {"c1", "a1"}, {"a1", "a2"}, {"c1", "a2"}} {
		delay := link.Delay{Base: 300 * time.Microsecond}
		peer := link.Peer{Host: pair[1], Echo: echo[pair[1]], Up: delay, Down: delay}
		if err := clients[pair[0]].Probe(t.Context(), peer); err != nil {
			t.Fatal(err)
		}
	}
	return config, rec
}

func parse(t testing.TB, timeline string) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte("name: test\nsummary: test\ntimeline:\n"+timeline+"\nexpect: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFaultsOfLinksAreProven(t *testing.T) {
	for name, step := range map[string]string{
		"hold":      "fault: partition, between: [zone:a, others], mode: hold",
		"drop":      "fault: partition, between: [zone:a, zone:c], mode: drop",
		"reset":     "fault: partition, between: [zone:a, others], mode: reset",
		"one way":   "fault: partition, from: zone:a, to: others, mode: hold",
		"other way": "fault: partition, from: others, to: zone:a, mode: drop",
		"latency":   "fault: latency, between: [zones], delay: 3ms, jitter: 1ms",
		"one delay": "fault: latency, from: zone:c, to: zone:a, delay: 3ms",
		"jitter":    "fault: jitter, between: [zones], jitter: 20ms",
		"flaky":     "fault: flaky, between: [zones], loss: 0.2, stall: 30ms",
		"bandwidth": "fault: bandwidth, between: [zones], bytes_per_s: 100000",
		"zone":      "fault: zone-failure, target: \"zone:a\", lose_data: [redis]",
	} {
		t.Run(name, func(t *testing.T) {
			config, rec := lab(t)
			runner, err := chaos.NewRunner(config)
			if err != nil {
				t.Fatal(err)
			}
			s := parse(t, "  - {at: 200ms, for: 500ms, "+step+"}")
			start := clock.Mono()
			ledger, err := runner.Run(t.Context(), s, 20*time.Second, start)
			if err != nil {
				t.Fatal(err)
			}
			if len(ledger) != 1 || !ledger.Proven() {
				t.Fatalf("ledger %+v, want one proven fault", ledger)
			}
			e := ledger[0]
			if start >= e.Asked || e.Asked > e.Began || e.Began >= e.HealAsked || e.HealAsked > e.Ended {
				t.Fatalf("out of order: %+v", e)
			}
			if got := rec.states(e.ID); !slices.Equal(got, []string{"asked", "began", "heal-asked", "ended"}) {
				t.Fatalf("recorded %v", got)
			}
			t.Logf("began %v after asked, ended %v after heal asked",
				time.Duration(e.Began-e.Asked), time.Duration(e.Ended-e.HealAsked))
		})
	}
}

// deaf is a host whose links cannot be impaired although it says so.
type deaf struct{ chaos.LinkControl }

func (deaf) Apply(context.Context, link.Impairment) error { return nil }

func TestFaultThatIsNotThereIsNotProven(t *testing.T) {
	for name, step := range map[string]string{
		"cut":     "fault: partition, between: [zone:a, others], mode: hold",
		"latency": "fault: latency, between: [zones], delay: 20ms",
		"flaky":   "fault: flaky, between: [zones], loss: 0.5, stall: 200ms",
	} {
		t.Run(name, func(t *testing.T) {
			config, rec := lab(t)
			config.ProofTime = 300 * time.Millisecond
			for host, control := range config.Links {
				config.Links[host] = deaf{control}
			}
			runner, err := chaos.NewRunner(config)
			if err != nil {
				t.Fatal(err)
			}
			ledger, err := runner.Run(t.Context(), parse(t, "  - {at: 100ms, for: 100ms, "+step+"}"), 2*time.Second, clock.Mono())
			if err != nil {
				t.Fatal(err)
			}
			if len(ledger) != 1 || ledger[0].Proven || ledger[0].Why == "" {
				t.Fatalf("ledger %+v, want one unproven fault", ledger)
			}
			if got := rec.states(ledger[0].ID); !slices.Contains(got, "unproven") || slices.Contains(got, "began") {
				t.Fatalf("recorded %v", got)
			}
		})
	}
}

// astray is a host whose impairments reach its probes, while the workload's connections
// are on links of another one.
type astray struct {
	chaos.LinkControl
	data chaos.LinkControl
}

func (a astray) Watch(ctx context.Context, i link.Impairment) error { return a.data.Watch(ctx, i) }

func (a astray) Seen(ctx context.Context, id string) ([]link.Passage, error) {
	return a.data.Seen(ctx, id)
}

// TestDataConnectionsProveToo: probes alone prove no fault of links that traffic passes.
func TestDataConnectionsProveToo(t *testing.T) {
	for name, step := range map[string]string{
		"hold":    "fault: partition, between: [zone:a, others], mode: hold",
		"drop":    "fault: partition, from: zone:c, to: zone:a, mode: drop",
		"latency": "fault: latency, between: [zones], delay: 20ms",
	} {
		for _, missed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s missed=%v", name, missed), func(t *testing.T) {
				config, rec := lab(t)
				data := config.Links["c1"].(*link.Client)
				if missed {
					c := link.DefaultConfig()
					c.Host = "c1"
					host, err := link.NewHost(c)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(host.Close)
					server := httptest.NewServer(host.Handler())
					t.Cleanup(server.Close)
					data = &link.Client{Base: server.URL, HTTP: server.Client()}
					config.Links["c1"] = astray{config.Links["c1"], data}
				}
				talk(t, data, link.Spec{Name: "redis-a/redis", ToHost: "a2", ToNode: "redis-a"})
				runner, err := chaos.NewRunner(config)
				if err != nil {
					t.Fatal(err)
				}
				ledger, err := runner.Run(t.Context(), parse(t, "  - {at: 200ms, for: 500ms, "+step+"}"), 20*time.Second, clock.Mono())
				if err != nil {
					t.Fatal(err)
				}
				if len(ledger) != 1 || ledger.Proven() == missed || missed && !strings.Contains(ledger[0].Why, "bytes passed from host c1 to redis-a") {
					t.Fatalf("ledger %+v, missed %v", ledger, missed)
				}
				if got := rec.states(ledger[0].ID); slices.Contains(got, "unproven") != missed {
					t.Errorf("recorded %v", got)
				}
			})
		}
	}
}

// talk keeps a connection busy towards a server that only listens.
func talk(t *testing.T, links *link.Client, spec link.Spec) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = ln.Close(); wg.Wait() })
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop) // ends what follows, before the wait above
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			end := context.AfterFunc(ctx, func() { _ = c.Close() })
			wg.Go(func() {
				defer end()
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			})
		}
	})
	spec.Upstream = ln.Addr().String()
	addr, err := links.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
			if err != nil {
				continue
			}
			end := context.AfterFunc(ctx, func() { _ = c.Close() })
			timer := clock.System().NewTimer(0)
			for err == nil {
				<-timer.C()
				_, err = c.Write(make([]byte, 64))
				timer.Reset(time.Millisecond)
			}
			end()
			timer.Stop()
			_ = c.Close()
		}
	})
}

func TestHistoryNamesBothSides(t *testing.T) {
	config, rec := lab(t)
	runner, err := chaos.NewRunner(config)
	if err != nil {
		t.Fatal(err)
	}
	s := parse(t, "  - {at: 0s, for: 100ms, fault: partition, between: [zone:a, others], mode: hold}")
	if _, err := runner.Run(t.Context(), s, time.Second, clock.Mono()); err != nil {
		t.Fatal(err)
	}
	e := rec.events[0]
	if e.Kind != history.KindFault || !slices.Equal(e.From, []string{"a1", "a2"}) || !slices.Equal(e.To, []string{"c1"}) {
		t.Fatalf("recorded %+v", e)
	}
}
