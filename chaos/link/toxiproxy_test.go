package link_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"locklab/chaos/link"
)

// TestToxiproxy: a host that does not answer takes its own links away and no others, and no
// web page gets to any.
func TestToxiproxy(t *testing.T) {
	host := newHost(t, "a")
	open(t, host, link.Spec{Name: "redis-1/redis", ToNode: "redis-1", Upstream: serve(t, echo)})
	server := httptest.NewServer(host.Handler())
	t.Cleanup(server.Close)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	hosts := map[string]*link.Client{"a": link.NewClient(server.URL, ""), "b": link.NewClient(silent.URL, "")}
	for _, c := range hosts {
		t.Cleanup(c.Disconnect)
	}
	api := link.Toxiproxy(func() map[string]*link.Client { return hosts }, false)
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
		{"localhost", "", "GET", "/proxies/b:redis-1:redis", "", 502, "ask b for its links", ""},
		{"localhost", "", "GET", "/proxies/a:nothing", "", 404, "proxy not found", ""},
		{"a.page.example:8474", "", "GET", "/proxies", "", 403, "want its IP address, or localhost", "redis-1"},
		{"127.0.0.1:8474", "Origin", "POST", toxics, slow, 403, "web pages", ""},
		{"127.0.0.1:8474", "Sec-Fetch-Site", "GET", "/proxies", "", 403, "web pages", "redis-1"},
		{"localhost", "", "POST", "/reset", "", 502, "ask b for its links", "ask a"},
		{"localhost", "", "GET", toxics, "", 200, "[]", "latency"},
	} {
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
