package link_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"

	toxiclient "github.com/Shopify/toxiproxy/v2/client"
	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"locklab/chaos/link"
	"locklab/internal/must"
	"locklab/internal/seed"
)

// TestToxiproxy: what is refused, where a host does not answer, and that no web page gets to links.
func TestToxiproxy(t *testing.T) {
	host := newHost(t, "a")
	open(t, host, link.Spec{Name: "redis-1/redis", ToNode: "redis-1", Upstream: serve(t, echo)})
	server := httptest.NewServer(host.Handler())
	t.Cleanup(server.Close)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	a, b := link.NewClient(server.URL, ""), link.NewClient(silent.URL, "")
	t.Cleanup(a.Disconnect)
	t.Cleanup(b.Disconnect)
	hosts := map[string]*link.Client{"a": a}
	api := link.Toxiproxy(hosts)
	const toxics, slow = "/proxies/a:redis-1:redis/toxics", `{"type": "latency", "attributes": {"latency": 5}}`
	for _, c := range []struct {
		host, header   string
		verb, path     string
		body           string
		status         int
		want, unwanted string
	}{
		{"127.0.0.1:8474", "", "GET", "/proxies", "", 200, `"a:redis-1:redis"`, ""},
		{"[::1]:8474", "", "GET", "/version", "", 200, "version", ""},
		{"localhost", "", "POST", toxics, slow, 200, "latency_downstream", ""},
		{"localhost", "", "POST", toxics, `{"type": "slicer"}`, 400, "average_size is 0: want 1 to ", ""},
		{"localhost", "", "POST", toxics, "{", 400, "bad request body", ""},
		{"localhost", "", "POST", toxics, strings.Repeat(" ", 70<<10), 400, "bad request body", ""},
		{"localhost", "", "GET", "/proxies/a:nothing", "", 404, "proxy not found", ""},
		{"a.page.example:8474", "", "GET", "/proxies", "", 403, "want its IP address, or localhost", "redis-1"},
		{"127.0.0.1:8474", "Origin", "POST", toxics, slow, 403, "web pages", ""},
		{"127.0.0.1:8474", "Sec-Fetch-Site", "GET", "/proxies", "", 403, "web pages", "redis-1"},
		{"LOCALHOST:8474", "", "GET", "/version", "", 200, "version", ""},
		{"localhost", "", "PATCH", "/proxies/a:redis-1:redis", `{"upstream": "127.0.0.1:1"}`, 403, "want toxics, or enabled", ""},
		{"localhost", "", "PATCH", "/proxies/a:redis-1:redis", `{"enabled": "no"}`, 400, "bad request body", ""},
		{"localhost", "", "DELETE", "/proxies/a:redis-1:redis", "", 403, "want toxics, or enabled", ""},
		{"localhost", "", "HEAD", "/reset", "", 405, "", ""},
		{"localhost", "", "POST", "/reset", "", 502, "ask b for its links", "ask a"},
	} {
		if strings.Contains(c.want, "ask b") {
			hosts["b"] = b // from here on
		}
		r := httptest.NewRequestWithContext(t.Context(), c.verb, c.path, strings.NewReader(c.body))
		r.Host = c.host
		if c.header != "" {
			r.Header.Set(c.header, "null")
		}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		if got := w.Body.String(); w.Code != c.status || !strings.Contains(got, c.want) || c.unwanted != "" && strings.Contains(got, c.unwanted) {
			t.Errorf("%s %s%s %s: %d %s, want %d %q", c.verb, c.host, c.path, c.header, w.Code, got, c.status, c.want)
		}
	}
}

// TestToxiproxyClients: requests as the clients of other languages send them, and what each
// reads of the answers. The client for Go and toxiproxy-cli are the released ones.
func TestToxiproxyClients(t *testing.T) {
	host := newHost(t, "a")
	addr := open(t, host, link.Spec{Name: "redis-1/redis", ToNode: "redis-1", Upstream: serve(t, echo)})
	control := httptest.NewServer(host.Handler())
	t.Cleanup(control.Close)
	client := link.NewClient(control.URL, "")
	t.Cleanup(client.Disconnect)
	api := httptest.NewServer(link.Toxiproxy(map[string]*link.Client{"a": client}))
	t.Cleanup(api.Close)

	const (
		proxy   = "/proxies/a:redis-1:redis"
		noBody  = "" // of a DELETE, and of what is not read
		latency = `{"attributes":{"latency":100,"jitter":0},"name":"slow","type":"latency","stream":"downstream","toxicity":1}`
		stopped = `{"attributes":{"rate":0},"name":"CUT_CONNECTION_DOWNSTREAM","type":"bandwidth","stream":"downstream","toxicity":1}`
	)
	whole := func(enabled bool, toxics string) string {
		return fmt.Sprintf(`{"name":"a:redis-1:redis","listen":%q,"upstream":%q,"enabled":%v,"Logger":{},"toxics":[%s]}`, addr, host.Opened()[0].Upstream, enabled, toxics)
	}
	down, up := whole(false, ""), whole(true, "")
	for _, c := range []struct {
		client, verb, path, body string
		status                   int
		want                     string
	}{
		{"Java/17.0.9", "POST", proxy + "/toxics", `{"name":"slow","stream":"downstream","toxicity":1.0,"type":"latency","attributes":{"latency":100,"jitter":0}}`, 200, latency},
		{"Java/17.0.9", "POST", proxy + "/toxics/slow", `{"attributes":{"jitter":5}}`, 200, strings.Replace(latency, `"jitter":0`, `"jitter":5`, 1)},
		{"Java/17.0.9", "POST", proxy + "/toxics/slow", `{"toxicity":0.0}`, 200, strings.Replace(strings.Replace(latency, `"jitter":0`, `"jitter":5`, 1), `"toxicity":1`, `"toxicity":0`, 1)},
		{"Java/17.0.9", "DELETE", proxy + "/toxics/slow", noBody, 204, noBody},
		{"Java/17.0.9", "POST", proxy + "/toxics", `{"name":"CUT_CONNECTION_DOWNSTREAM","stream":"downstream","toxicity":1.0,"type":"bandwidth","attributes":{"rate":0}}`, 200, stopped},
		{"Java/17.0.9", "GET", proxy + "/toxics/CUT_CONNECTION_DOWNSTREAM", noBody, 200, stopped},
		{"Java/17.0.9", "POST", "/reset", "{}", 204, noBody},
		{"Java/17.0.9", "POST", proxy, `{"enabled":false}`, 200, down},
		{"Java/17.0.9", "GET", "/proxies", noBody, 200, `{"a:redis-1:redis":` + down + `}`},
		{"Java/17.0.9", "POST", proxy, `{"enabled":true}`, 200, up},
		{"Ruby", "POST", proxy + "/toxics", `{"name":"latency_downstream","type":"latency","attributes":{"latency":100,"nonsense":true}}`, 200, strings.Replace(latency, "slow", "latency_downstream", 1)},
		{"python-requests/2.32.3", "POST", proxy + "/toxics", `{"type": "latency", "attributes": {}}`, 409, `{"error":"toxic already exists","status":409}`},
		{"Ruby", "DELETE", proxy + "/toxics/latency_downstream", noBody, 204, noBody},
		{"node", "POST", proxy + "/toxics", `{"attributes":{"latency":100,"jitter":0},"name":"slow","stream":"downstream","toxicity":1,"type":"latency"}`, 200, latency},
		{"node", "POST", proxy + "/toxics/slow", `{"attributes":{"latency":100},"toxicity":1}`, 200, latency},
		{"node", "GET", proxy, noBody, 200, whole(true, latency)},
		{"node", "POST", proxy, fmt.Sprintf(`{"enabled":false,"listen":%q,"upstream":%q}`, addr, host.Opened()[0].Upstream), 200, whole(false, latency)},
		{"node", "POST", "/reset", noBody, 204, noBody},
		{"node", "GET", proxy, noBody, 200, up},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.verb, api.URL+c.path, strings.NewReader(c.body))
		must.Do(t, err)
		r.Header.Set("User-Agent", c.client)
		if c.client == "node" {
			r.Header.Set("Sec-Fetch-Mode", "cors") // as its fetch does
		}
		w, err := http.DefaultClient.Do(r)
		must.Do(t, err)
		text, err := io.ReadAll(w.Body)
		must.Do(t, err)
		_ = w.Body.Close()
		if w.StatusCode != c.status || !sameJSON(t, text, c.want) {
			t.Errorf("%s: %s %s %s: %d %s, want %d %s", c.client, c.verb, c.path, c.body, w.StatusCode, text, c.status, c.want)
		}
	}

	goes, err := toxiclient.NewClient(api.URL).Proxy("a:redis-1:redis")
	must.Do(t, err)
	conn := dial(t, addr)
	say(t, conn, "hello")
	hear(t, conn, "hello")
	must.Do(t, goes.Disable())
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a live connection of a disabled proxy: %v, want a reset", err)
	}
	mustReset(t, addr)
	must.Do(t, goes.Enable())
	conn = dial(t, addr)
	say(t, conn, "hello")
	hear(t, conn, "hello")
	if made, err := goes.AddToxic("", "timeout", "", -1, toxiclient.Attributes{"timeout": 1}); err != nil || made.Name != "timeout_downstream" || made.Attributes["timeout"] != 1.0 {
		t.Errorf("%+v, %v", made, err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a connection that timed out: %v, want its end", err)
	}
	var kinds []string
	for _, done := range host.Hand() {
		kinds = append(kinds, done.What())
	}
	if !slices.Contains(kinds, "taken down") || !slices.Contains(kinds, "timeout, down") {
		t.Errorf("noted as done by hand: %q", kinds)
	}
}

func sameJSON(t *testing.T, got []byte, want string) bool {
	t.Helper()
	var a, b any
	if want == "" {
		return len(got) == 0
	}
	must.Do(t, json.Unmarshal([]byte(want), &b))
	return json.Unmarshal(got, &a) == nil && cmp.Equal(a, b)
}

// TestToxicsOfToxiproxyComeAndGo: whatever they do to connections that live and to those that
// begin, the link goes on.
func TestToxicsOfToxiproxyComeAndGo(t *testing.T) {
	h := newHost(t, "a")
	addr := open(t, h, link.Spec{Name: "x", Upstream: serve(t, echo)})
	sent := chatter(t, addr)
	draw := seed.Seed(1).Rand()
	kinds := []string{"noop", "latency", "bandwidth", "slow_close", "timeout", "reset_peer", "slicer", "limit_data"}
	of := make([]string, 5)
	for before := sent(); sent() < before+1000; {
		n := draw.IntN(len(of))
		id := fmt.Sprint(n)
		if draw.IntN(3) == 0 {
			h.Heal(id)
			of[n] = ""
			continue
		}
		if of[n] == "" {
			of[n] = kinds[draw.IntN(len(kinds))]
		}
		effect, err := link.NewEffect(of[n])
		must.Do(t, err)
		number := func() int { return 1 + draw.IntN(20) }
		must.Do(t, json.Unmarshal(fmt.Appendf(nil, `{"latency":%d,"jitter":%d,"rate":%d,"delay":%d,"timeout":%d,"average_size":%d,"bytes":%d}`,
			number(), number(), number()-1, number(), number(), number(), 10*number()), effect))
		toxicity := draw.Float32()
		ways := []link.Direction{link.Up, link.Down}
		must.Do(t, h.Apply(link.Impairment{ID: id, Link: "x", Direction: ways[n%2], Effect: effect, Toxicity: &toxicity}))
	}
	for n := range of {
		h.Heal(fmt.Sprint(n))
	}
	c := dial(t, addr)
	say(t, c, "hello")
	hear(t, c, "hello")
}
