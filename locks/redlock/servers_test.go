package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"locklab/locks/clock"
	"locklab/locks/redlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a real redis-server of a test's own.
type server struct {
	tb   testing.TB
	name string
	port int
	cmd  *exec.Cmd
}

// startServers starts n servers in memory.
func startServers(tb testing.TB, n int) []*server {
	tb.Helper()
	servers := make([]*server, n)
	for i := range servers {
		servers[i] = &server{tb: tb, name: fmt.Sprintf("redis-%d", i+1), port: freePort(tb)}
		servers[i].start()
		tb.Cleanup(servers[i].kill)
	}
	return servers
}

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *server) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// start starts the process and waits for its answer to PING.
func (s *server) start() {
	s.tb.Helper()
	s.cmd = exec.Command("redis-server", "--port", strconv.Itoa(s.port), "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--dir", s.tb.TempDir())
	if err := s.cmd.Start(); err != nil {
		s.tb.Fatalf("start redis-server, which these tests need: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		conn, err := net.DialTimeout("tcp", s.addr(), time.Second)
		if err == nil {
			_ = conn.Close()
			break
		}
		if ctx.Err() != nil {
			s.tb.Fatalf("redis-server %s does not answer: %v", s.name, err)
		}
	}
	client := redis.NewClient(&redis.Options{Addr: s.addr()})
	defer func() { _ = client.Close() }()
	if err := client.Ping(ctx).Err(); err != nil {
		s.tb.Fatalf("ping %s: %v", s.name, err)
	}
}

// kill ends the process at once, paused or not; its memory is gone.
func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

func (s *server) pause()  { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }
func (s *server) resume() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }

// do runs one command at the server.
func (s *server) do(args ...any) any {
	s.tb.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.addr()})
	defer func() { _ = client.Close() }()
	value, err := client.Do(context.Background(), args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		s.tb.Fatalf("%s: %v: %v", s.name, args, err)
	}
	return value
}

func addrs(servers []*server) []redlock.Instance {
	out := make([]redlock.Instance, len(servers))
	for i, s := range servers {
		out[i] = redlock.Instance{Name: s.name, Addr: s.addr()}
	}
	return out
}

// newClient returns a client of the servers with the options changed.
func newClient(tb testing.TB, servers []*server, change func(*redlock.Options)) *redlock.Locker {
	tb.Helper()
	o := redlock.DefaultOptions()
	if change != nil {
		change(&o)
	}
	return newClientOn(tb, servers, nil, o)
}

func newClientOn(tb testing.TB, servers []*server, c clock.Clock, o redlock.Options) *redlock.Locker {
	tb.Helper()
	l, err := redlock.New(redlock.Config{Addrs: addrs(servers), Options: o, Clock: c})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}
