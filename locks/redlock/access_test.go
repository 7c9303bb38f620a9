package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

// commands are those that the documentation of Access has a user need.
func commands(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile("access.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`\+@?[a-z]+`).FindAllString(string(source), -1)
	if len(found) == 0 {
		t.Fatal("access.go names no commands")
	}
	return found
}

// TestCommands compares them with what the scripts call and the client sends.
func TestCommands(t *testing.T) {
	used := map[string]bool{}
	for _, c := range []string{"set", "eval", "evalsha", "subscribe", "ping", "select"} {
		used["+"+c] = true
	}
	files, err := filepath.Glob("scripts/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range regexp.MustCompile(`redis\.call\('([a-z]+)'`).FindAllStringSubmatch(string(text), -1) {
			used["+"+call[1]] = true
		}
	}
	want, got := slices.Sorted(maps.Keys(used)), commands(t)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("used are %v, documented %v", want, got)
	}
}

// TestUserWithTheDocumentedCommands has a lease extended, a waiter give up and another
// one be woken, and asks the servers whether they refused anything.
func TestUserWithTheDocumentedCommands(t *testing.T) {
	admin := redlock.Access{Username: "admin", Password: "pass"}
	instances := guarded(t, admin, func(port string) []string {
		return append([]string{
			"--port", port, "--user", "default", "off", "--user", "admin", "on", ">pass", "~*", "&*", "+@all",
			"--user", "alice", "on", ">pass", "~*", "&*",
		}, commands(t)...)
	})
	asked := func(args ...any) (answers string) {
		t.Helper()
		for _, in := range instances {
			c := clientOf(in.Addr, admin, 0)
			answer, err := c.Do(t.Context(), args...).Result()
			_ = c.Close()
			if err != nil {
				t.Fatal(err)
			}
			answers += fmt.Sprint(answer)
		}
		return answers
	}
	options := redlock.DefaultOptions()
	options.Wake = redlock.Publish
	open := func() *redlock.Locker {
		l, err := redlock.New(redlock.Config{
			Addrs: instances, Options: options, Access: redlock.Access{Username: "alice", Password: "pass", DB: 3},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	lease, err := open().Acquire(ctx, "x")
	if err != nil {
		t.Fatal(err)
	}
	for strings.Count(asked("info", "commandstats"), "cmdstat_pexpire:") < len(instances) { // until it is extended
		select {
		case <-lease.Lost():
			t.Fatalf("the lease was not extended: %s", asked("acl", "log"))
		case <-ctx.Done():
			t.Fatal("the lease was not extended at all instances, nor lost, within 30 s")
		default:
		}
	}
	other := open()
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := other.Acquire(short, "x"); !errors.Is(err, locks.ErrNotAcquired) {
		t.Errorf("want ErrNotAcquired, got %v", err)
	}
	next := make(chan error, 1)
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
	if refused := asked("acl", "log"); strings.Trim(refused, "[]") != "" {
		t.Errorf("the servers refused: %s", refused)
	}
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
			// with what this test itself needs to count keys
			plain(append([]string{"--user", "default", "off", "--user", "alice", "on", ">pass", "~*", "&*"}, append(commands(t), "+dbsize")...)...),
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
