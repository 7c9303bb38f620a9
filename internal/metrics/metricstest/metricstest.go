// Package metricstest looks at metrics as Prometheus would.
package metricstest

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"locklab/internal/metrics"
	"locklab/internal/must"
)

// Page is what the collectors serve. It fails the test if that is not well-formed, or if
// `promtool check metrics` would have something to say.
func Page(t testing.TB, collectors ...prometheus.Collector) string {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		must.Do(t, r.Register(c))
	}
	var page strings.Builder
	must.Do(t, metrics.Write(&page, r))
	Lint(t, page.String())
	return page.String()
}

// Lint fails the test if `promtool check metrics` would have something to say.
func Lint(t testing.TB, page string) {
	t.Helper()
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil {
		t.Fatalf("%v in\n%s", err, page)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Has fails the test for every line that the page has not.
func Has(t testing.TB, page string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+page, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, page)
		}
	}
}
