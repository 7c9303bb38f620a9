package pglock_test

import (
	"strings"
	"testing"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/pglock"
)

// clientOf is a client that dials this URL.
func clientOf(tb testing.TB, url, spec string) *pglock.Locker {
	tb.Helper()
	l, err := pglock.New(pglock.Config{URL: url, Options: locktest.Options(tb, pglock.ParseOptions, spec)})
	return locktest.Open(tb, l, err)
}

// columns are those of the tables, for a user who has some of the same names.
const columns = "(resource text PRIMARY KEY, fence bigint NOT NULL DEFAULT 0, owner text, expires timestamptz NOT NULL DEFAULT '-infinity')"

var specs = []string{"postgres", "postgres:advisory", "postgres:lease"}

// TestUsersExcludeEachOther whatever is set for one of them: a schema of their own, with tables of the same
// names, in which names are looked up first, another encoding of names.
func TestUsersExcludeEachOther(t *testing.T) {
	addr := startServer(t)
	for user, set := range map[string]string{
		"one": "", "schema": "CREATE SCHEMA AUTHORIZATION schema CREATE SEQUENCE locklab_fence START 1000000 CREATE TABLE locklab_locks " + columns, "encoding": "ALTER ROLE encoding SET client_encoding = 'LATIN1'",
	} {
		do(t, addr, "CREATE ROLE "+user+" LOGIN SUPERUSER")
		do(t, addr, set)
	}
	for _, spec := range specs {
		for _, user := range []string{"schema", "encoding"} {
			t.Run(spec+" "+user, func(t *testing.T) {
				as := func(user string) *pglock.Locker {
					return clientOf(t, strings.Replace(url(addr), "locklab@", user+"@", 1), spec)
				}
				resource := "가 ä " + t.Name()
				first := locktest.Acquire(t, as(user), resource)
				_ = locktest.Refused(t, as("one"), resource, 300*time.Millisecond)
				locktest.Release(t, first)
				before, _ := first.Token()
				if after, _ := locktest.Acquire(t, as("one"), resource).Token(); after <= before {
					t.Errorf("token %d after %d", after, before)
				}
			})
		}
	}
}

// TestCommitsThatAreAnsweredEarly: on a server that is set to answer before it writes, what was granted is not
// forgotten in a crash, neither by the lock nor by its tokens.
func TestCommitsThatAreAnsweredEarly(t *testing.T) {
	s := newServer(t, "synchronous_commit=off", "wal_writer_delay=10s")
	lease := newClient(t, s.addr, nil, "postgres:lease,ttl=1m")
	locktest.Release(t, locktest.Acquire(t, lease, "there")) // makes the tables
	do(t, s.addr, "CHECKPOINT")
	held := locktest.Acquire(t, lease, "held")
	s.crash(t)
	_ = locktest.Refused(t, newClient(t, s.addr, nil, "postgres:lease,ttl=1m"), "held", time.Second)
	if signals.Closed(held.Lost()) {
		t.Error("the holder was told that it does not hold")
	}
	for _, spec := range specs[:2] {
		l := newClient(t, s.addr, nil, spec)
		var highest locks.Token
		for range 600 {
			le := locktest.Acquire(t, l, spec)
			locktest.Release(t, le)
			token, _ := le.Token()
			highest = max(highest, token)
		}
		s.crash(t)
		if token, _ := locktest.Acquire(t, newClient(t, s.addr, nil, spec), spec).Token(); token <= highest {
			t.Errorf("%s: token %d after %d", spec, token, highest)
		}
	}
}
