package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	json "github.com/go-json-experiment/json/v1"
)

// process is one that a row started; it is killed with the row.
type process struct {
	stdin  io.Writer // its end tells our own processes to end
	stdout *bufio.Reader
}

func startProcess(ctx context.Context, stops *stopList, env []string, path string, args ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), env...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	stops.add(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	return &process{stdin, bufio.NewReader(stdout)}, nil
}

// startPeer starts this program again, to serve what main calls kind.
func startPeer(ctx context.Context, stops *stopList, kind string, config any, env []string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	return startProcess(ctx, stops, env, self, "peer", kind, string(text))
}

// await tries until what was started answers.
func await(ctx context.Context, what string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		once, done := context.WithTimeout(ctx, time.Second)
		err := try(once)
		done()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s does not answer: %w", what, err)
		}
	}
}

// tempDir is removed with the row.
func tempDir(stops *stopList) (string, error) {
	dir, err := os.MkdirTemp("", "locklab-bench-")
	if err != nil {
		return "", fmt.Errorf("make a directory: %w", err)
	}
	stops.add(func() { _ = os.RemoveAll(dir) }) // the system cleans up what is left
	return dir, nil
}

// freePorts finds loopback addresses that are free at the moment.
func freePorts(ctx context.Context, n int) ([]string, error) {
	var addrs []string
	for range n {
		lis, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = lis.Close() }() // only held to get distinct ones
		addrs = append(addrs, lis.Addr().String())
	}
	return addrs, nil
}
