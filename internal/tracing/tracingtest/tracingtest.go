// Package tracingtest is an OTLP collector for tests: the gRPC service that real ones have.
package tracingtest

import (
	"context"
	"net"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"locklab/internal/must"
)

// Span is one span with the process that made it.
type Span struct {
	Service, Instance, Name, Trace, ID, Parent string
	Attributes                                 map[string]string
	StartNS, EndNS                             uint64
}

// Collector keeps what is exported to it.
type Collector struct {
	collector.UnimplementedTraceServiceServer

	Addr string

	mu    sync.Mutex
	spans []Span
}

// Start listens on the loopback until the test ends.
func Start(t testing.TB) *Collector {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.Do(t, err)
	c := &Collector{Addr: listener.Addr().String()}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, c)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // ends with Stop
	}()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	return c
}

// Export implements the service.
func (c *Collector) Export(
	_ context.Context, request *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, from := range request.GetResourceSpans() {
		process := map[string]string{}
		for _, a := range from.GetResource().GetAttributes() {
			process[a.GetKey()] = a.GetValue().GetStringValue()
		}
		for _, scope := range from.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				span := Span{
					Service: process["service.name"], Instance: process["service.instance.id"], Name: s.GetName(),
					Trace: string(s.GetTraceId()),
					ID:    string(s.GetSpanId()), Parent: string(s.GetParentSpanId()), Attributes: map[string]string{},
					StartNS: s.GetStartTimeUnixNano(), EndNS: s.GetEndTimeUnixNano(),
				}
				for _, a := range s.GetAttributes() {
					span.Attributes[a.GetKey()] = a.GetValue().GetStringValue()
				}
				c.spans = append(c.spans, span)
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// Traces are the spans that came, by trace.
func (c *Collector) Traces() map[string][]Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string][]Span{}
	for _, s := range c.spans {
		all[s.Trace] = append(all[s.Trace], s)
	}
	return all
}
