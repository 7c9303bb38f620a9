package raftnode_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/raftlock"
	"locklab/nodes/raftnode"
)

// TestTLS holds the lock through TLS between servers and to clients, also after the leader
// has gone, and lets no stranger in at either door.
func TestTLS(t *testing.T) {
	c := newStoppedCluster(t, 3, raftnode.Settings{})
	c.authority = locktest.NewAuthority(t)
	for _, name := range c.names {
		c.start(name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	locker := c.locker(3 * time.Second)
	hold := func() {
		t.Helper()
		lease, err := locker.Acquire(ctx, "x")
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
	hold()
	gone := c.leader()
	c.stop(gone)
	hold() // who leads now has heard from the other one
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
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		if _, err := stranger.Acquire(short, "x"); !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, locks.ErrUnavailable) {
			t.Errorf("%s: want ErrNotAcquired and ErrUnavailable, got %v", name, err)
		}
		cancel()
		_ = stranger.Close()
	}

	// A client's certificate is not a server's.
	ours.ServerName = c.leader()
	conn, err := (&tls.Dialer{NetDialer: &net.Dialer{}, Config: ours}).DialContext(ctx, "tcp", c.servers[ours.ServerName].RaftAddr())
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

// TestTLSIsChecked has servers refuse what would let strangers in as servers.
func TestTLSIsChecked(t *testing.T) {
	authority := locktest.NewAuthority(t)
	for want, change := range map[string]func(*tls.Config){
		"TLS.InsecureSkipVerify": func(c *tls.Config) { c.InsecureSkipVerify = true },
		"TLS.RootCAs":            func(c *tls.Config) { c.RootCAs = nil },
		"TLS.Certificates":       func(c *tls.Config) { c.Certificates = nil },
		"TLS.GetConfigForClient": func(c *tls.Config) {
			reloaded := c.Clone()
			c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return reloaded, nil }
		},
	} {
		config := authority.Config("raft-1")
		change(config)
		s, err := raftnode.Start(t.Context(), raftnode.Config{
			Name: "raft-1", ClientAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0",
			Settings: raftnode.Settings{Store: raftnode.StoreMemory}, TLS: config,
		})
		if !errors.Is(err, raftnode.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("want ErrInvalid with %q, got %v", want, err)
		}
		if err == nil {
			_ = s.Close()
		}
	}
}
