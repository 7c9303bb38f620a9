package agent

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"locklab/internal/httpapi"
	kit "locklab/internal/metrics"
	"locklab/internal/metrics/metricstest"
	"locklab/internal/must"
)

// page is what Prometheus gets with the token.
func page(t *testing.T, a *Agent, token string) (string, error) {
	t.Helper()
	c := httpapi.NewClient(a.URL(), httpapi.ClientConfig{Token: token, Kinds: kinds()})
	defer c.Close()
	var text []byte
	err := c.Call(t.Context(), http.MethodGet, kit.Path, nil, &text)
	return string(text), err
}

// TestMetrics: one page has the agent's, what it was given, and those of its nodes, each
// under the node's name; of one that stands still or is gone only that it is not ready.
func TestMetrics(t *testing.T) {
	a, c := newAgent(t, func(cfg *Config) {
		cfg.Collectors = []prometheus.Collector{kit.Build("v1", "abc")}
	})
	must.Do(t, c.Start(t.Context(), NodeSpec{Name: "own-1", Role: "own"}))
	must.Do(t, c.Start(t.Context(), NodeSpec{Name: "plain-1", Role: "plain"}))
	read := func() string {
		t.Helper()
		text, err := page(t, a, a.cfg.Token)
		must.Do(t, err)
		return text
	}
	of := `host="` + a.cfg.Host + `",zone="` + a.cfg.Zone + `"`
	all := read()
	metricstest.Has(t, all,
		`locklab_node_ready{node="own-1",role="own",`+of+`} 1`,
		`locklab_node_ready{node="plain-1",role="plain",`+of+`} 1`,
	)
	for _, series := range []string{`process_start_time_seconds{node="own-1",role="own",` + of, `process_start_time_seconds{` + of, `locklab_build_info{commit="abc",`} {
		if !strings.Contains(all, "\n"+series) {
			t.Errorf("no series begins with %s in\n%s", series, all)
		}
	}
	if strings.Contains(all, a.cfg.Token) {
		t.Error("the token is on the page")
	}

	must.Do(t, c.Pause(t.Context(), "own-1", "", 0))
	all = read()
	metricstest.Has(t, all, `locklab_node_ready{node="own-1",role="own",`+of+`} 0`)
	if strings.Contains(all, `{node="own-1",role="own",`+of+`} 1`) || strings.Contains(all, `process_start_time_seconds{node="own-1"`) {
		t.Errorf("a node that stands still has said its metrics:\n%s", all)
	}
}

// TestTheScrapeTokenOnlyReads the metrics: who has it neither sees nor does anything else.
func TestTheScrapeTokenOnlyReads(t *testing.T) {
	const scrape = "a-token-of-prometheus"
	a, c := newAgent(t, func(cfg *Config) { cfg.ScrapeToken = scrape })
	must.Do(t, c.Start(t.Context(), NodeSpec{Name: "own-1", Role: "own"}))
	all, err := page(t, a, scrape)
	must.Do(t, err)
	if !strings.Contains(all, `locklab_node_ready{node="own-1"`) || strings.Contains(all, scrape) {
		t.Errorf("what the scrape token reads:\n%s", all)
	}
	before := a.heardNS.Load()
	other := NewClient(a.URL(), scrape)
	defer other.Close()
	_, healthErr := other.Health(t.Context())
	_, stateErr := other.State(t.Context(), "own-1")
	for what, err := range map[string]error{
		"health": healthErr, "state": stateErr, "kill": other.Kill(t.Context(), "own-1"), "reset": other.Reset(t.Context()),
		"start": other.Start(t.Context(), NodeSpec{Name: "own-2", Role: "own"}),
	} {
		if !errors.Is(err, httpapi.ErrForbidden) {
			t.Errorf("%s with the scrape token: %v, want it forbidden", what, err)
		}
	}
	if state, _ := a.sorted()[0].state(); len(a.sorted()) != 1 || state != "ready" || a.heardNS.Load() != before {
		t.Errorf("after that the node is %s", state)
	}
	cfg := a.cfg
	if cfg.ScrapeToken = cfg.Token; cfg.complete() == nil {
		t.Error("the token that controls may also be that of Prometheus")
	}
}

// TestOnlyAControllerKeepsNodes: requests without the token, and those that only read metrics, keep no node of
// a dead controller running.
func TestOnlyAControllerKeepsNodes(t *testing.T) {
	a, c := newAgent(t, nil)
	health := func(c *Client) error { _, err := c.Health(t.Context()); return err }
	stranger := NewClient(a.URL(), "guess")
	defer stranger.Close()
	if err := health(stranger); !errors.Is(err, httpapi.ErrUnauthorized) {
		t.Fatal(err)
	}
	for token, want := range map[string]error{a.cfg.Token: nil, "guess": httpapi.ErrUnauthorized} {
		if _, err := page(t, a, token); !errors.Is(err, want) {
			t.Errorf("metrics for the token %q: %v", token, err)
		}
	}
	if a.heardNS.Load() != 0 {
		t.Error("a scrape, or a request without the token, counted as one of the controller")
	}
	must.Do(t, health(c))
	if a.heardNS.Load() == 0 {
		t.Error("one with the token does not count")
	}
}
