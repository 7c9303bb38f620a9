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

// grace is how long a main may take to return once it was told to stop.
const grace = 3 * time.Second

// Main is the body of a node. It returns when ctx ends.
type Main func(ctx context.Context, node *Node) error

// Node is what a main has to work with.
type Node struct {
	Config
	Recorder *history.Writer // to the agent
	Log      *slog.Logger
	// Metrics are given to the agent. What main registers is added to those of the process.
	Metrics *prometheus.Registry
	// Clock is what the node's work goes by. Faults make it wrong.
	Clock *clock.Skewed
	// Points are where faults stop the node, if it says that it passes them.
	Points *Points

	server atomic.Pointer[serverClock] // nil if faults make Clock wrong
	ready  sync.Once
}

// Ready tells the agent that the node answers. Calls after the first do nothing.
func (n *Node) Ready() {
	n.ready.Do(func() { n.Recorder.Record(history.Event{Kind: history.KindNode, State: history.NodeReady}) })
}

// Run runs a node to its end, with the file descriptors that an agent gives
// it. The context that main gets ends with ctx, on SIGTERM and when standard input
// ends; a main that then does not return in 3 s is given up with an error. Events
// recorded until then are written before Run returns.
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
	stdin   io.Reader // orders; its end is that of the agent
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

// wait returns what main returned, or an error if it does not return in time after
// it was told to stop. It drops the error of a main that only reports that it was stopped.
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
