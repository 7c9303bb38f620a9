package redlock_test

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/redlock"
)

// guarded starts three servers with the arguments and waits until they answer a client
// that has access.
func guarded(t *testing.T, access redlock.Access, args func(port string) []string) []redlock.Instance {
	t.Helper()
	var servers []*server
	for i := range 3 {
		s := &server{tb: t, name: "redis-" + strconv.Itoa(i+1), port: freePort(t)}
		s.cmd = exec.Command("redis-server", append([]string{
			"--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir(),
		}, args(strconv.Itoa(s.port))...)...)
		if err := s.cmd.Start(); err != nil {
			t.Fatalf("start redis-server, which these tests need: %v", err)
		}
		t.Cleanup(s.kill)
		client := clientOf(s.addr(), access, access.DB)
		defer func() { _ = client.Close() }()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for err := client.Ping(ctx).Err(); err != nil; err = client.Ping(ctx).Err() {
			if ctx.Err() != nil {
				t.Fatalf("redis-server does not answer: %v", err)
			}
		}
		servers = append(servers, s)
	}
	return addrs(servers)
}

func clientOf(addr string, a redlock.Access, db int) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, Username: a.Username, Password: a.Password, DB: db, TLSConfig: a.TLS})
}

// TestAccess holds the lock, in turn with a waiter who is woken by a message, at servers
// that want a password, a user, another database or TLS; and not with another access.
func TestAccess(t *testing.T) {
	authority := locktest.NewAuthority(t)
	ca, cert, key := authority.Files("redis")
	secure := authority.Config("client")
	plain := func(more ...string) func(string) []string {
		return func(port string) []string { return append([]string{"--port", port}, more...) }
	}
	tests := map[string]struct {
		args         func(port string) []string
		right, wrong redlock.Access
	}{
		"password": {
			plain("--requirepass", "pass"),
			redlock.Access{Password: "pass"},
			redlock.Access{Password: "other"},
		},
		"user, database": {
			plain("--user", "alice", "on", ">pass", "~*", "&*", "+@all", "--user", "default", "off"),
			redlock.Access{Username: "alice", Password: "pass", DB: 3},
			redlock.Access{},
		},
		"TLS": {
			func(port string) []string {
				return []string{
					"--port", "0", "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key,
					"--tls-ca-cert-file", ca, "--tls-auth-clients", "yes",
				}
			},
			redlock.Access{TLS: secure},
			redlock.Access{TLS: locktest.NewAuthority(t).Config("client")},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			instances := guarded(t, tt.right, tt.args)
			options := redlock.DefaultOptions()
			options.Wake = redlock.Publish
			open := func(a redlock.Access) *redlock.Locker {
				l, err := redlock.New(redlock.Config{Addrs: instances, Options: options, Access: a})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = l.Close() })
				return l
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			lease, err := open(tt.right).Acquire(ctx, "x")
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range instances {
				c := clientOf(in.Addr, tt.right, tt.right.DB)
				if n, err := c.DBSize(ctx).Result(); err != nil || n == 0 {
					t.Errorf("%s: %d keys in database %d, %v", in.Name, n, tt.right.DB, err)
				}
				_ = c.Close()
			}
			next := make(chan error, 1)
			other := open(tt.right)
			go func() {
				lease, err := other.Acquire(ctx, "x")
				if err == nil {
					err = lease.Release(ctx)
				}
				next <- err
			}()
			if err := lease.Release(ctx); err != nil {
				t.Error(err)
			}
			if err := <-next; err != nil {
				t.Errorf("the next one: %v", err)
			}
			short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
			defer cancel()
			if _, err := open(tt.wrong).Acquire(short, "x"); !errors.Is(err, locks.ErrNotAcquired) {
				t.Errorf("without access: want ErrNotAcquired, got %v", err)
			}
		})
	}
}
