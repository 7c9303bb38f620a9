// Package tracing follows single matches through the processes of the lab, and exports
// what they did as OpenTelemetry's spans by OTLP over gRPC:
//
//	player  match ──────────────────────────────────────────────
//	master    match ──────────────────────────────────────────
//	            find seat ──   acquire lock ────  order room ──
//	worker                                          create room
//
// The player begins at most [PerSecond] traces a second, whatever the load is; who is asked
// for a match without a trace's header begins none. A nil [Tracer] does nothing. Spans are
// exported from the background: where the collector does not answer they are lost, which is
// said once, and nobody waits.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Header carries a trace from one process to the next, as the W3C says.
const Header = "Traceparent"

const (
	// PerSecond bounds the traces that one process begins: a collector on the machine of
	// the lab must not be what the machine is busy with.
	PerSecond = 50
	// exportTime bounds one export, and with it how long the end of a process waits.
	exportTime = time.Second
)

// Config names the process and its collector.
type Config struct {
	Addr     string // host:port of a collector that takes OTLP by gRPC without TLS; "" is nowhere
	Service  string // such as master
	Instance string // the node's name
	Warn     func(text string, err error)
}

// CheckAddr says what is wrong with an address, nil if nothing is.
func CheckAddr(addr string) error {
	if host, port, err := net.SplitHostPort(addr); err != nil || host == "" || port == "" {
		return fmt.Errorf("%q: want host:port of a collector that takes OTLP by gRPC, such as 127.0.0.1:4317", addr)
	}
	return nil
}

// Tracer makes the spans of one process. It is safe for concurrent use.
type Tracer struct {
	tracer   trace.Tracer
	provider *sdk.TracerProvider
	nextNS   atomic.Int64 // when the next trace may begin, in Unix time
}

// Start is nil without an address. Close ends it.
func Start(ctx context.Context, c Config) (*Tracer, error) {
	if c.Addr == "" {
		return nil, nil
	}
	if err := CheckAddr(c.Addr); err != nil {
		return nil, err
	}
	client, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(c.Addr), otlptracegrpc.WithInsecure(),
		otlptracegrpc.WithTimeout(exportTime), otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{Enabled: false}))
	if err != nil {
		return nil, fmt.Errorf("export traces to %s: %w", c.Addr, err)
	}
	provider := sdk.NewTracerProvider(
		sdk.WithSampler(sdk.AlwaysSample()), // whoever begins a trace has decided
		sdk.WithBatcher(&exporter{SpanExporter: client, Config: c},
			sdk.WithBatchTimeout(exportTime), sdk.WithExportTimeout(exportTime)),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.namespace", "locklab"), attribute.String("service.name", "locklab-"+c.Service),
			attribute.String("service.instance.id", c.Instance),
		)),
	)
	return &Tracer{tracer: provider.Tracer("locklab"), provider: provider}, nil
}

// Close exports what is left, for a second at most, also when ctx has ended.
func (t *Tracer) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exportTime)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // what the collector did not take is lost, and was said
}

// exporter says once for each outage that the collector does not take the spans.
type exporter struct {
	sdk.SpanExporter
	Config
	failing bool
}

// ExportSpans is called by one goroutine.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err != nil && !e.failing {
		e.Warn("traces are lost: the collector at "+e.Addr+" does not take them", err)
	}
	e.failing = err != nil
	return nil
}

// Span is one step of a match. The zero value is none, and all it does is nothing.
type Span struct{ span trace.Span }

// The kinds of spans: a request to another process, one from another, and neither.
const (
	Client = trace.SpanKindClient
	Server = trace.SpanKindServer
	Inside = trace.SpanKindInternal
)

// Root begins a trace, unless there were enough in this second. Its first span began so
// long ago: what a player waits for begins when it was to be sent.
func (t *Tracer) Root(ctx context.Context, name string, now time.Time, ago time.Duration) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	next := t.nextNS.Load()
	if now.UnixNano() < next || !t.nextNS.CompareAndSwap(next, now.UnixNano()+int64(time.Second/PerSecond)) {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, name,
		trace.WithNewRoot(), trace.WithTimestamp(now.Add(-ago)), trace.WithSpanKind(Client))
	return ctx, Span{span}
}

// Begin is a step of the match that ctx belongs to, if that is followed.
func (t *Tracer) Begin(ctx context.Context, name string, kind trace.SpanKind) (context.Context, Span) {
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, Span{span}
}

// Join is Begin for a request with the value of [Header].
func (t *Tracer) Join(ctx context.Context, header, name string) (context.Context, Span) {
	if t == nil || header == "" {
		return ctx, Span{}
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": header})
	return t.Begin(ctx, name, Server)
}

// Parent is the value of [Header] for requests that ctx makes, "" if it is not followed.
func Parent(ctx context.Context) string {
	s := trace.SpanContextFromContext(ctx)
	if !s.IsSampled() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-%s", s.TraceID(), s.SpanID(), s.TraceFlags())
}

// End ends the step, which failed with err if that is one, and notes attributes of it, each a key and its value.
func (s Span) End(err error, attributes ...string) {
	if s.span == nil {
		return
	}
	for pair := range slices.Chunk(attributes, 2) {
		if pair[1] != "" {
			s.span.SetAttributes(attribute.String("locklab."+pair[0], pair[1]))
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}
