package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"locklab/internal/metrics"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// The file descriptors on which a node writes its events, and answers orders.
const (
	EventsFD  = 3
	AnswersFD = 4
)

// grace bounds the time until a main returns after its context has ended.
const grace = 3 * time.Second

// Main is the body of a node. It returns when ctx ends.
type Main func(ctx context.Context, node *Node) error

// Node is the environment of a main.
type Node struct {
	Config
	Recorder *history.Writer // to the agent
	Log      *slog.Logger
	// Metrics go to the agent. They have the metrics of the process, and main may register more.
	Metrics *prometheus.Registry
	// Clock is the clock of the node's work. Faults make it wrong.
	Clock *clock.Skewed
	// Points are the places at which faults can stop the node, if its role passes them.
	Points *Points

	server atomic.Pointer[serverClock] // set by GoBy; nil if clock faults apply to Clock
	ready  sync.Once
}

// Ready tells the agent that the node answers. Calls after the first do nothing.
func (n *Node) Ready() {
	n.ready.Do(func() { n.Recorder.Record(history.Event{Kind: history.KindNode, State: history.NodeReady}) })
}

// Run runs a node to its end, with the file descriptors from the agent. The context of
// main ends with ctx, on SIGTERM and when standard input ends. If main does not return within
// 3 s after that, Run returns an error. It first writes all recorded events.
func Run(ctx context.Context, configPath string, main Main) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	return run(ctx, configPath, streams{
		stdin: os.Stdin, log: os.Stderr,
		events: os.NewFile(EventsFD, "events"), answers: os.NewFile(AnswersFD, "answers"),
	}, main)
}

// streams are a node's connections to its agent.
type streams struct {
	stdin   io.Reader // orders; ends with the agent
	events  io.Writer
	answers io.Writer // to orders
	log     io.Writer
}

func run(ctx context.Context, configPath string, s streams, main Main) error {
	config, err := readConfig(configPath)
	if err != nil {
		return err
	}
	recorder := history.NewWriter(s.events, config.Host, config.Name)
	node := &Node{
		Config: *config, Recorder: recorder, Clock: clock.NewSkewed(clock.System()),
		Log:    slog.New(slog.NewJSONHandler(s.log, nil)).With("node", config.Name),
		Points: NewPoints(recorder), Metrics: metrics.NewRegistry(),
	}
	if config.Skew != nil {
		node.Clock.Set(config.Skew.Offset, config.Skew.Rate)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the agent, or with this process
		node.obey(s.stdin, s.answers)
		cancel()
	}()
	ended := make(chan error, 1)
	go func() { ended <- main(ctx, node) }()
	if err := errors.Join(wait(ctx, ended), recorder.Close()); err != nil {
		return fmt.Errorf("run %s %s: %w", config.Role, config.Name, err)
	}
	return nil
}

// wait returns the error of main, or one of its own if main does not return within grace after
// ctx has ended. It drops an error that only reports the end of ctx.
func wait(ctx context.Context, ended <-chan error) (err error) {
	select {
	case err = <-ended:
	case <-ctx.Done():
		var came bool
		if err, came = clock.Await(clock.System(), grace, ended); !came {
			return fmt.Errorf("did not end within %s of being told to stop", grace)
		}
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
