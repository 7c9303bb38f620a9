//go:build !race

// Package reference_test compares links with toxiproxy itself. It is apart from the tests of
// links because toxiproxy leaves goroutines behind, and not for the race detector because
// toxiproxy has races: toxics under it are in the tests of links.
package reference_test

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"locklab/chaos/link"
	"locklab/internal/must"
	"locklab/locks/clock"
)

// message is what a client sends. The server sends back what it gets.
const message = "0123456789"

const (
	// settle is how long a client waits after a change before it compares, so that it sees
	// bytes that should not have come.
	settle = 15 * time.Millisecond
	// patience is how long the two may differ: one of them may be late.
	patience = 20 * time.Second
)

// side is toxiproxy, or the lab's links, with one proxy.
type side struct {
	api, proxy, listen string
	host               *link.Host // nil: toxiproxy
}

// call returns the status of the answer: the answers are toxiproxy's own.
func (s side) call(t *rapid.T, verb, path, body string) int {
	r, err := http.NewRequestWithContext(t.Context(), verb, s.api+"/proxies/"+s.proxy+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: patience}
	response, err := client.Do(r)
	if err != nil && s.host == nil {
		t.Skipf("toxiproxy hangs: %v", err)
	} else if err != nil {
		t.Fatalf("%s %s %s: %v", verb, path, body, err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// client is a connection through one of them, and what came back.
type client struct {
	conn net.Conn

	mu    sync.Mutex
	got   []byte
	ended bool
}

// dial is a client that has ended if it is not let in.
func (s side) dial() *client {
	c := &client{}
	conn, err := new(net.Dialer).Dial("tcp", s.listen)
	if err != nil {
		c.ended = true
		return c
	}
	c.conn = conn
	go func() {
		buf := make([]byte, 1024)
		for {
			n, err := conn.Read(buf)
			c.mu.Lock()
			c.got = append(c.got, buf[:n]...)
			c.ended = err != nil
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return c
}

func (c *client) send() {
	if c.conn != nil {
		_, _ = c.conn.Write([]byte(message)) // it may have ended
	}
}

func (c *client) close() {
	if c.conn != nil {
		_ = c.conn.Close()
	}
}

func (c *client) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%s, ended: %v", c.got, c.ended)
}

// TestLinksDoAsToxiproxyDoes: every type of toxic, added, changed and removed, with every
// toxicity, on live and on new connections, and a proxy that is disabled and enabled. Clients
// see the same bytes and ends.
func TestLinksDoAsToxiproxyDoes(t *testing.T) {
	echo := echoServer(t)
	reference := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	theirs := httptest.NewServer(reference.Routes())
	t.Cleanup(theirs.Close)
	config := link.DefaultConfig()
	config.Host, config.Seed = "a", 1
	host, err := link.NewHost(config)
	must.Do(t, err)
	t.Cleanup(host.Close)
	control := httptest.NewServer(host.Handler())
	t.Cleanup(control.Close)
	own := link.NewClient(control.URL, "")
	t.Cleanup(own.Disconnect)
	ours := httptest.NewServer(link.Toxiproxy(map[string]*link.Client{"a": own}, false))
	t.Cleanup(ours.Close)

	var count int
	rapid.Check(t, func(t *rapid.T) {
		count++
		name := fmt.Sprint("p", count)
		proxy := toxiproxy.NewProxy(reference, name, "127.0.0.1:0", echo)
		if err := reference.Collection.Add(proxy, true); err != nil {
			t.Fatal(err)
		}
		listen, err := host.Open(link.Spec{Name: name, ToHost: "b", ToNode: "b", Upstream: echo})
		if err != nil {
			t.Fatal(err)
		}
		both := []side{{theirs.URL, name, proxy.Listen, nil}, {ours.URL, "a:" + name, listen, host}}
		compare(t, both)
		host.Clear()
		go proxy.Stop() // it may hang
	})
}

func compare(t *rapid.T, both []side) {
	var (
		clients [][]*client
		chance  bool // decides what clients see
		stalled bool // a toxic lets nothing pass
	)
	defer func() {
		for _, pair := range clients {
			pair[0].close()
			pair[1].close()
		}
	}()
	call := func(verb, path, body string) {
		want := both[0].call(t, verb, path, body)
		if got := both[1].call(t, verb, path, body); got != want {
			t.Fatalf("%s %s %s: %d, toxiproxy says %d", verb, path, body, got, want)
		}
	}
	toxicity := func() string {
		share := rapid.SampledFrom([]string{"", "1", "0", "0.5", "-1", "2"}).Draw(t, "toxicity")
		chance = chance || share == "0.5"
		if share == "" {
			return ""
		}
		return `,"toxicity":` + share
	}
	kinds := map[string]string{}
	named := rapid.SampledFrom([]string{"x", "y", "z"})
	look := func() {
		clock.Await[struct{}](clock.System(), settle, nil)
		deadline := clock.Mono() + int64(patience)
		for _, pair := range clients {
			for !chance && pair[0].String() != pair[1].String() {
				if clock.Mono() > deadline {
					t.Fatalf("a client got %v; through toxiproxy %v", pair[1], pair[0])
				}
				clock.Await[struct{}](clock.System(), time.Millisecond, nil)
			}
		}
	}
	// toxiproxy has the neighbours of a toxic that comes or goes pass on what they keep.
	meddle := func() { chance = chance || stalled }
	steps := map[string]func(){
		"add": func() {
			name, kind := named.Draw(t, "name"), rapid.SampledFrom([]string{
				"noop", "latency", "bandwidth", "slow_close", "timeout", "reset_peer", "slicer", "limit_data", "nonsense",
			}).Draw(t, "type")
			stream := rapid.SampledFrom([]string{"", "upstream", "downstream", "sideways"}).Draw(t, "stream")
			if kinds[name] == "" {
				kinds[name] = kind
			}
			meddle()
			stalled = stalled || kind == "bandwidth"
			call("POST", "/toxics", fmt.Sprintf(`{"name":%q,"type":%q,"stream":%q,"attributes":%s%s}`, name, kind, stream, attributes(t, kind), toxicity()))
		},
		"change": func() {
			name := named.Draw(t, "name")
			stalled = stalled || kinds[name] == "bandwidth"
			call(rapid.SampledFrom([]string{"POST", "PATCH"}).Draw(t, "verb"), "/toxics/"+name, fmt.Sprintf(`{"attributes":%s%s}`, attributes(t, kinds[name]), toxicity()))
		},
		"remove": func() {
			name := named.Draw(t, "name")
			meddle()
			delete(kinds, name)
			call("DELETE", "/toxics/"+name, "")
		},
		"toggle": func() {
			call("POST", "", fmt.Sprintf(`{"enabled":%v}`, rapid.Bool().Draw(t, "enabled")))
		},
		"dial": func() { clients = append(clients, []*client{both[0].dial(), both[1].dial()}) },
		"send": func() {
			for _, pair := range clients {
				pair[0].send()
				pair[1].send()
			}
		},
	}
	names := slices.Sorted(maps.Keys(steps))
	for _, step := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 12).Draw(t, "steps") {
		steps[step]()
		look()
	}
}

// attributes are such that toxiproxy does not panic, and that its timers are short or do not
// end in the test.
func attributes(t *rapid.T, kind string) string {
	number := func(of ...int) int { return rapid.SampledFrom(of).Draw(t, "number") }
	switch all := rapid.Bool().Draw(t, "defaults"); {
	case kind == "slicer":
		return fmt.Sprintf(`{"average_size":%d,"delay":%d}`, number(1, 3, 100), number(0, 100))
	case all:
		return rapid.SampledFrom([]string{"{}", `{"nonsense":1}`, `{"Rate":0}`}).Draw(t, "attributes")
	case kind == "latency":
		return fmt.Sprintf(`{"latency":%d,"jitter":%d}`, number(0, 5, -1), number(0, 2))
	case kind == "bandwidth":
		return fmt.Sprintf(`{"rate":%d}`, number(0, 1, 1000))
	case kind == "slow_close":
		return fmt.Sprintf(`{"delay":%d}`, number(0, 5))
	case kind == "limit_data":
		return fmt.Sprintf(`{"bytes":%d}`, number(0, 5, 10, 15, 1000))
	default:
		return fmt.Sprintf(`{"timeout":%d}`, number(0, 5, 100_000))
	}
}

// echoServer sends back what it gets.
func echoServer(t *testing.T) string {
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.Do(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return ln.Addr().String()
}
