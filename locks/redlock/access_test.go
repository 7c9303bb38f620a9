package redlock_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/internal/testfile"
	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/redlock"
	"locklab/locks/redlock/redistest"
)

// commands are those that the documentation of Access has a user need.
func commands(t *testing.T) []string {
	t.Helper()
	source := testfile.Read(t, "access.go")
	found := regexp.MustCompile(`\+@?[a-z]+`).FindAllString(string(source), -1)
	if len(found) == 0 {
		t.Fatal("access.go names no commands")
	}
	return found
}

// TestCommands compares them with what the scripts call and the client sends.
func TestCommands(t *testing.T) {
	used := map[string]bool{}
	for _, c := range []string{"set", "eval", "evalsha", "subscribe", "ping", "select", "info"} {
		used["+"+c] = true
	}
	files, err := filepath.Glob("scripts/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, f := range files {
		text := testfile.Read(t, f)
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

// TestAccess holds the lock at servers that want a password, a user with just the
// documented commands and another database, or TLS: a lease is extended, a waiter gives up
// and another one is woken. The servers refuse nothing of that, and who has another access
// is not let in.
func TestAccess(t *testing.T) {
	authority := locktest.NewAuthority(t)
	ca, cert, key := authority.Files("redis")
	admin := redlock.Access{Username: "admin", Password: "pass", DB: 3}
	password := redlock.Access{Password: "pass"}
	secure := redlock.Access{TLS: authority.Config("client")}
	for name, tt := range map[string]struct {
		args                []string // before the port
		admin, right, wrong redlock.Access
	}{
		"password": {[]string{"--requirepass", "pass", "--port"}, password, password, redlock.Access{Password: "other"}},
		"user, database": {
			append(append([]string{
				"--user", "default", "off", "--user", "admin", "on", ">pass", "~*", "&*", "+@all",
				"--user", "alice", "on", ">pass", "~*", "&*",
			}, commands(t)...), "--port"),
			admin,
			redlock.Access{Username: "alice", Password: "pass", DB: 3},
			redlock.Access{},
		},
		"TLS": {
			[]string{
				"--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca, "--tls-auth-clients", "yes",
				"--port", "0", "--tls-port",
			},
			secure, secure,
			redlock.Access{TLS: locktest.NewAuthority(t).Config("client")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			servers := redistest.StartGuarded(t, 3, tt.admin, func(port string) []string { return append(slices.Clip(tt.args), port) })
			options := redlock.DefaultOptions()
			options.Wake, options.TTL = redlock.Publish, time.Second
			client := func(a redlock.Access) *redlock.Locker {
				return open(t, redlock.Config{Addrs: redistest.Addrs(servers), Options: options, Access: a})
			}
			other := client(tt.right)
			lease := locktest.Acquire(t, client(tt.right), "x")
			locktest.Eventually(t, "the lease is extended at all instances", func() bool {
				extended := 0
				for _, s := range servers {
					extended += strings.Count(s.Do("info", "commandstats").(string), "cmdstat_pexpire:")
				}
				return extended == len(servers)
			})
			for _, s := range servers {
				if n := s.Do("dbsize"); n == int64(0) {
					t.Errorf("%s: no key in database %d", s.Name, tt.right.DB)
				}
			}
			for what, l := range map[string]*redlock.Locker{"while it is held": other, "without access": client(tt.wrong)} {
				if err := fails(t, l, "x", 300*time.Millisecond); !errors.Is(err, locks.ErrNotAcquired) {
					t.Errorf("%s: want ErrNotAcquired, got %v", what, err)
				}
			}
			var next sync.WaitGroup
			next.Go(func() {
				if err := locktest.Acquire(t, other, "x").Release(locktest.Within(t)); err != nil {
					t.Errorf("the next one: %v", err)
				}
			})
			locktest.Release(t, lease)
			next.Wait()
			for _, s := range servers {
				for _, entry := range s.Do("acl", "log").([]any) {
					if text := fmt.Sprint(entry); !strings.Contains(text, "reason auth") && !strings.Contains(text, "reason:auth") {
						t.Errorf("%s refused: %s", s.Name, text)
					}
				}
			}
		})
	}
}
