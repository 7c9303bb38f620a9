package raftnode_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/raftlock"
	"locklab/nodes/raftnode"
)

// TestTLS holds the lock through TLS between servers and to clients, also after the leader
// has gone, and lets no stranger in at either door.
func TestTLS(t *testing.T) {
	t.Parallel()
	c := newStoppedCluster(t, 3, raftnode.Config{})
	c.authority = locktest.NewAuthority(t)
	for _, name := range c.names {
		c.start(name)
	}
	locker := c.locker(3 * time.Second)
	locktest.Release(t, locktest.Acquire(t, locker, "x"))
	gone := c.leader()
	c.stop(gone)
	locktest.Release(t, locktest.Acquire(t, locker, "x")) // who leads now has heard from the other one
	c.start(gone)

	others := locktest.NewAuthority(t)
	ours := c.tls("test")
	for name, config := range map[string]*tls.Config{
		"without TLS":            nil,
		"another authority":      others.Config("test"),
		"a client of nobody's":   {RootCAs: ours.RootCAs, Certificates: others.Config("test").Certificates, MinVersion: tls.VersionTLS13},
		"a server of other name": {RootCAs: ours.RootCAs, Certificates: ours.Certificates, ServerName: "raft-9", MinVersion: tls.VersionTLS13},
	} {
		stranger, err := raftlock.New(raftlock.Config{Servers: c.all(), TLS: config})
		must.Do(t, err)
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if _, err := stranger.Acquire(short, "x"); !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, locks.ErrUnavailable) {
			t.Errorf("%s: want ErrNotAcquired and ErrUnavailable, got %v", name, err)
		}
		cancel()
		_ = stranger.Close()
	}

	// A client's certificate is not a server's.
	ours.ServerName = c.leader()
	conn, err := (&tls.Dialer{NetDialer: &net.Dialer{}, Config: ours}).DialContext(t.Context(), "tcp", c.servers[ours.ServerName].RaftAddr())
	if err == nil { // with TLS 1.3 the refusal comes after the client is done
		_ = conn.SetDeadline(clock.System().Now().Add(30 * time.Second))
		_, err = conn.Read(make([]byte, 1))
		_ = conn.Close()
	}
	var alert *net.OpError
	if !errors.As(err, &alert) || alert.Op != "remote error" {
		t.Errorf("a client at the door of servers: want to be refused, got %v", err)
	}
}

// TestTLSIsChecked has a server refuse what would let strangers in as servers.
func TestTLSIsChecked(t *testing.T) {
	config := locktest.NewAuthority(t).Config("raft-1")
	config.RootCAs = nil
	s, err := raftnode.Start(t.Context(), raftnode.Config{
		Name: "raft-1", ClientAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0",
		Settings: raftnode.Settings{Store: raftnode.StoreMemory}, TLS: config,
	})
	if !errors.Is(err, raftnode.ErrInvalid) || !strings.Contains(err.Error(), "TLS.RootCAs") {
		t.Errorf("want ErrInvalid with TLS.RootCAs, got %v", err)
	}
	if err == nil {
		_ = s.Close()
	}
}
