package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"locklab/internal/pdeathsig"
	"locklab/locks/clock"
)

// endGrace is the time after which Serve kills a server that does not end; Run waits longer.
const endGrace = 2 * time.Second

// Serve runs a foreign server in the node's process group, so that it is killed and paused with the node, and
// never outlives it. The node is ready once look returns nil; Serve calls it repeatedly, so it must be short. When
// ctx ends, Serve sends the signal end to the server.
func (n *Node) Serve(ctx context.Context, cmd *exec.Cmd, end syscall.Signal, look func(context.Context) error) error {
	defer pdeathsig.Set(cmd)()
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr // the agent's log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	looking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		if Await(looking, func() error { return look(looking) }) == nil {
			n.Ready()
		}
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("%s has ended: %w", cmd.Path, errors.Join(errEnded, err))
	case <-ctx.Done():
	}
	_ = cmd.Process.Signal(end)
	kill := time.AfterFunc(endGrace, func() { _ = cmd.Process.Kill() }) //nolint:forbidigo // no test needs this time
	defer kill.Stop()
	n.Log.Info("server has ended, as asked", "how", <-ended)
	return nil
}

var errEnded = errors.New("unasked")

// Await calls look until it returns nil. look must be short; its error says what is missing.
func Await(ctx context.Context, look func() error) error {
	for {
		err := look()
		if err == nil {
			return nil
		}
		if late := clock.Sleep(ctx, 10*time.Millisecond); late != nil {
			return fmt.Errorf("%w: %w", late, err)
		}
	}
}
