package tracing_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/internal/tracing"
	"locklab/internal/tracing/tracingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, addr string, warn func(string, error)) *tracing.Tracer {
	t.Helper()
	if warn == nil {
		warn = func(text string, err error) { t.Error(text, err) }
	}
	tracer, err := tracing.Start(t.Context(), tracing.Config{Addr: addr, Service: "test", Instance: "test-1", Warn: warn})
	must.Do(t, err)
	return tracer
}

func TestATraceCrossesProcesses(t *testing.T) {
	c := tracingtest.Start(t)
	player, master := start(t, c.Addr, nil), start(t, c.Addr, nil)
	const ago = 3 * time.Second
	ctx, root := player.Root(t.Context(), "match", time.Now(), ago)
	served, span := master.Join(t.Context(), tracing.Parent(ctx), "serve")
	_, lock := master.Begin(served, "lock", tracing.Client)
	lock.End(nil, "outcome", "ok", "error", "")
	span.End(errors.New("refused"))
	root.End(nil)
	player.Close(t.Context())
	master.Close(t.Context())
	if len(c.Traces()) != 1 {
		t.Fatalf("traces %v, want one", c.Traces())
	}
	found := map[string]tracingtest.Span{}
	for _, spans := range c.Traces() {
		for _, s := range spans {
			found[s.Name] = s
		}
	}
	m, s, l := found["match"], found["serve"], found["lock"]
	if m.Parent != "" || s.Parent != m.ID || l.Parent != s.ID || m.Service != "locklab-test" || m.Instance != "test-1" || l.Attributes["locklab.outcome"] != "ok" || len(l.Attributes) != 1 {
		t.Errorf("spans %+v", found)
	}
	if took := time.Duration(m.EndNS - m.StartNS); took < ago { //nolint:gosec // close to each other
		t.Errorf("the match took %v, and had waited for %v", took, ago)
	}
}

// TestFewAreFollowed: the load does not decide how many traces there are.
func TestFewAreFollowed(t *testing.T) {
	c := tracingtest.Start(t)
	tracer := start(t, c.Addr, nil)
	now := time.Unix(1000, 0)
	for range 5000 { // a second of it
		_, span := tracer.Root(t.Context(), "match", now, 0)
		span.End(nil)
		now = now.Add(time.Second / 5000)
	}
	tracer.Close(t.Context())
	if followed := len(c.Traces()); followed != tracing.PerSecond {
		t.Errorf("%d of 5000 matches in a second are followed, want %d", followed, tracing.PerSecond)
	}
}

// TestNobodyWaitsForADeadCollector: one that refuses, and one that never answers. More spans
// than are kept are lost, which is said once.
func TestNobodyWaitsForADeadCollector(t *testing.T) {
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer func() { _ = silent.Close() }()
	gone, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.Do(t, err)
	_ = gone.Close()
	for name, addr := range map[string]string{"refuses": gone.Addr().String(), "is silent": silent.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			var warned atomic.Int64
			tracer := start(t, addr, func(string, error) { warned.Add(1) })
			ctx, root := tracer.Root(context.Background(), "match", time.Now(), 0)
			for range 20_000 {
				_, span := tracer.Begin(ctx, "lock", tracing.Client)
				span.End(nil)
			}
			root.End(nil)
			tracer.Close(t.Context())
			if warned.Load() > 1 || name == "refuses" && warned.Load() != 1 {
				t.Errorf("%d warnings, want one", warned.Load())
			}
		})
	}
}

func TestAddr(t *testing.T) {
	for addr, right := range map[string]bool{"127.0.0.1:4317": true, "[::1]:4317": true, "otel:4317": true, "otel": false, ":4317": false, "http://otel:4317": false} {
		if err := tracing.CheckAddr(addr); (err == nil) != right {
			t.Errorf("%s: %v", addr, err)
		}
	}
	off, err := tracing.Start(t.Context(), tracing.Config{})
	if off != nil || err != nil {
		t.Errorf("without an address: %v, %v", off, err)
	}
	ctx, span := off.Root(t.Context(), "match", time.Now(), 0)
	if span.End(nil); tracing.Parent(ctx) != "" {
		t.Error("it is followed all the same")
	}
}
