// Package metricstest looks at metrics as Prometheus would.
package metricstest

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"locklab/internal/metrics"
	"locklab/internal/must"
)

// Page is what the collectors serve. It fails the test if that is not well-formed.
func Page(t testing.TB, collectors ...prometheus.Collector) string {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		must.Do(t, r.Register(c))
	}
	var page strings.Builder
	must.Do(t, metrics.Write(&page, r))
	return page.String()
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
