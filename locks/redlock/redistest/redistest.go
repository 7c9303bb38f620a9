// Package redistest starts real Redis servers for the tests of the locks on them.
package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/locks/locktest"
)

// Server is a real redis-server that belongs to one test.
type Server struct {
	tb   testing.TB
	Name string
	addr string
	args []string // in addition to the common ones
	cmd  *exec.Cmd

	sentinel string // the configuration file of a Sentinel; "" for others
}

// Start starts n servers in memory.
func Start(tb testing.TB, n int) []*Server {
	tb.Helper()
	return start(tb, n, nil)
}

func start(tb testing.TB, n int, args []string) []*Server {
	tb.Helper()
	servers := make([]*Server, n)
	for i := range servers {
		s := &Server{tb: tb, Name: fmt.Sprintf("redis-%d", i+1), addr: locktest.FreeAddr(tb)}
		_, port, _ := net.SplitHostPort(s.addr) // always has one
		s.args = append([]string{"--port", port}, args...)
		s.Start()
		tb.Cleanup(s.Kill)
		servers[i] = s
	}
	return servers
}

// Addr is host:port.
func (s *Server) Addr() string { return s.addr }

// Client returns a go-redis client, which the caller closes.
func (s *Server) Client() *redis.Client { return redis.NewClient(&redis.Options{Addr: s.Addr()}) }

// Start starts the process and waits for its answer to PING.
func (s *Server) Start() {
	s.tb.Helper()
	args := append([]string{"--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.tb.TempDir()}, s.args...)
	if s.sentinel != "" {
		args = []string{s.sentinel, "--sentinel"}
	}
	s.cmd = exec.CommandContext(context.Background(), "redis-server", args...)
	if err := s.cmd.Start(); err != nil {
		s.tb.Fatalf("start redis-server, which these tests need: %v", err)
	}
	client := s.Client()
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for err := client.Ping(ctx).Err(); err != nil; err = client.Ping(ctx).Err() {
		if ctx.Err() != nil {
			s.tb.Fatalf("redis-server %s does not answer: %v", s.Name, err)
		}
	}
}

// Kill ends the process at once, paused or not; its memory is gone.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Pause stops the process, and Resume lets it go on.
func (s *Server) Pause() { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (s *Server) Resume() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }

// Do runs one command at the server.
func (s *Server) Do(args ...any) any {
	s.tb.Helper()
	client := s.Client()
	defer func() { _ = client.Close() }()
	value, err := client.Do(context.Background(), args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		s.tb.Fatalf("%s: %v: %v", s.Name, args, err)
	}
	return value
}

// Forget deletes all data of the servers.
func Forget(servers []*Server) {
	for _, s := range servers {
		s.Do("flushall")
	}
}

// Addrs returns the addresses of the servers.
func Addrs(servers []*Server) []string {
	out := make([]string, len(servers))
	for i, s := range servers {
		out[i] = s.Addr()
	}
	return out
}
