// Package metrics is what all processes of the lab have in common for Prometheus. Names
// begin with locklab_, units are seconds and bytes, and labels name what the topology has,
// a lock, or one of a few words: never a player, a group or a resource.
package metrics

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"locklab/internal/httpapi"
)

// Path is where they are served.
const Path = "/metrics"

// NewRegistry has what the Go runtime and the kernel tell of this process.
func NewRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		// The one that is left out is a percentage, and no base unit.
		collectors.NewGoCollector(collectors.WithoutGoCollectorRuntimeMetrics(regexp.MustCompile(`^/gc/gogc:percent$`))),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return r
}

// Build says what program this is.
func Build(version, commit string) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "locklab_build_info", Help: "The program: always 1.",
		ConstLabels: prometheus.Labels{"version": version, "commit": commit, "goversion": runtime.Version()},
	})
	g.Set(1)
	return g
}

// Buckets are those of everything that somebody waits for: from 100 µs, about what a
// round trip on one machine takes, to the longest wait that a lock is given.
func Buckets() []float64 {
	return []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
}

// Serve adds what is gathered to an API, as Prometheus's text.
func Serve(a *httpapi.API, from prometheus.Gatherer) {
	a.Stream("GET "+Path, func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
		return Write(w, from)
	})
}

// Write writes it. What cannot be gathered costs only itself, unless it is all.
func Write(w io.Writer, from prometheus.Gatherer) error {
	families, err := from.Gather()
	if len(families) == 0 && err != nil {
		return fmt.Errorf("gather metrics: %w", err)
	}
	out := expfmt.NewEncoder(w, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if err := out.Encode(f); err != nil {
			return nil //nolint:nilerr // who asked has left
		}
	}
	return nil
}
