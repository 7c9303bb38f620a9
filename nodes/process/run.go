package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"locklab/internal/httpapi"
	"locklab/internal/metrics"
	"locklab/internal/tracing"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// EventsFD is the file descriptor on which an own node writes its events.
const EventsFD = 3

// MetricsFD is the listener, of the loopback, on which it serves its metrics.
const MetricsFD = 4

// StateReady is the State of the KindNode event that says that a node answers.
const StateReady = "ready"

// grace is how long a main may take to return once it was told to stop.
const grace = 3 * time.Second

// Main is the body of an own node. It returns when ctx ends.
type Main func(ctx context.Context, node *Node) error

// Node is what a main has to work with.
type Node struct {
	Config
	Recorder *Recorder
	Log      *slog.Logger
	// Metrics are served to the agent. What main registers is added to those of the process.
	Metrics *prometheus.Registry
	// Clock is what the node's work goes by. Faults make it wrong.
	Clock *clock.Skewed
	// Points are where faults stop the node, if it says that it passes them.
	Points *Points

	ready sync.Once
}

// Ready tells the agent that the node answers. Calls after the first do nothing.
func (n *Node) Ready() {
	n.ready.Do(func() { n.Recorder.Record(history.Event{Kind: history.KindNode, State: StateReady}) })
}

// Run runs an own node to its end, with the file descriptors that an agent gives
// it. The context that main gets ends with ctx, on SIGTERM and when standard input
// ends; a main that then does not return in 3 s is given up with an error. Events
// recorded until then are written before Run returns.
func Run(ctx context.Context, configPath string, main Main) error {
	events, err := openEvents()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	return run(ctx, configPath, streams{stdin: os.Stdin, events: events, answers: openAnswers(), log: os.Stderr, metrics: openMetrics}, main)
}

// openMetrics takes the listener that the agent gave.
func openMetrics() (net.Listener, error) {
	f := os.NewFile(MetricsFD, "metrics")
	defer func() { _ = f.Close() }() // the listener is a copy
	return net.FileListener(f)
}

func openEvents() (io.Writer, error) {
	f := os.NewFile(EventsFD, "events")
	info, err := f.Stat()
	if err != nil || (info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 && !info.Mode().IsRegular()) {
		return nil, fmt.Errorf("write events: file descriptor %d is not open: nodes are started by an agent (by hand: add 3>events.jsonl): %w", EventsFD, ErrInvalid)
	}
	return f, nil
}

// streams are a node's connections to its agent.
type streams struct {
	stdin   io.Reader // orders; its end is that of the agent
	events  io.Writer
	answers io.Writer // to orders
	log     io.Writer
	// metrics is where they are served, with the config's token.
	metrics func() (net.Listener, error)
}

func run(ctx context.Context, configPath string, s streams, main Main) error {
	config, err := readConfig(configPath)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(s.log, nil)).With("node", config.Name)
	recorder := NewRecorder(s.events, config.Host, config.Name)
	node := &Node{
		Config: *config, Recorder: recorder, Log: log, Clock: clock.NewSkewed(clock.System()), Points: NewPoints(recorder, stopSelf), Metrics: metrics.NewRegistry(),
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if config.MetricsToken != "" {
		listener, err := s.metrics()
		if err != nil {
			return fmt.Errorf("serve metrics: file descriptor %d is not a listener: %w: %w", MetricsFD, err, ErrInvalid)
		}
		served := make(chan struct{})
		go func() {
			defer close(served)
			node.serveMetrics(ctx, listener)
		}()
		defer func() {
			cancel()
			<-served
		}()
	}
	go func() { // ends with the agent, or with this process
		node.obey(s.stdin, s.answers)
		cancel()
	}()
	ended := make(chan error, 1)
	go func() { ended <- main(ctx, node) }()
	err = wait(ctx, ended)
	if closeErr := node.Recorder.Close(); closeErr != nil {
		err = errors.Join(err, closeErr)
	}
	if err != nil {
		return fmt.Errorf("run %s %s: %w", config.Role, config.Name, err)
	}
	return nil
}

// serveMetrics answers the agent until ctx ends. A node without metrics works as well.
func (n *Node) serveMetrics(ctx context.Context, listener net.Listener) {
	api := httpapi.New(httpapi.Config{Name: "metrics of " + n.Name, Token: n.MetricsToken, Log: n.Log})
	metrics.Serve(api, n.Metrics)
	if err := httpapi.Serve(ctx, listener, api, nil, n.Log); err != nil {
		n.Log.Warn("metrics are not served any more", "error", err)
	}
}

// Trace sends the spans of the node to a collector; nowhere with "". Close the tracer.
func (n *Node) Trace(ctx context.Context, otlp string) (*tracing.Tracer, error) {
	return tracing.Start(ctx, tracing.Config{
		Addr: otlp, Service: n.Role, Instance: n.Name,
		Warn: func(text string, err error) { n.Log.Warn(text, "error", err) }, //nolint:sloglint // the text names the collector
	})
}

// wait returns what main returned, or an error if it does not return in time after
// it was told to stop.
func wait(ctx context.Context, ended <-chan error) error {
	select {
	case err := <-ended:
		return unlessStopped(ctx, err)
	case <-ctx.Done():
	}
	if err, came := clock.Await(clock.System(), grace, ended); came {
		return unlessStopped(ctx, err)
	}
	return fmt.Errorf("did not end within %s of being told to stop", grace)
}

// unlessStopped drops the error of a main that only reports that it was stopped.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
