package mesh_test

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/peerlock/mesh"
)

const secret = "sixteen bytes and more"

// TestPeersThatProveWhoTheyAreAreConnected also sees to it that neither the secret nor,
// with TLS, a payload can be read on the way.
func TestPeersThatProveWhoTheyAreAreConnected(t *testing.T) {
	authority := locktest.NewAuthority(t)
	for name, change := range map[string]func(*mesh.Config){
		"secret": func(c *mesh.Config) { c.Secret = []byte(secret) },
		"tls":    func(c *mesh.Config) { c.TLS = authority.Config(c.Self.ID) },
		"both":   func(c *mesh.Config) { c.Secret, c.TLS = []byte(secret), authority.Config(c.Self.ID) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, func(cfg *[2]mesh.Config) {
				for i := range cfg {
					change(&cfg[i])
				}
			})
			up := [2]*mesh.Link{p.events[0].want("up").link, p.events[1].want("up").link}
			for i, l := range up {
				l.Send([]byte("a payload"))
				p.mesh[i].Flush()
				p.events[1-i].want("a payload")
			}
			if there, back := p.link.Said(); strings.Contains(there+back, secret) || p.cfg[0].TLS != nil && strings.Contains(there+back, "a payload") {
				t.Errorf("it can be read on the way: %q, %q", there, back)
			}
			p.link.Hold(true) // silence is noticed, and a socket that takes nothing blocks no one
			p.events[0].want("down")
			p.events[1].want("down")
			p.link.Hold(false)
			p.events[0].want("up")
			p.events[1].want("up")
		})
	}
}

// TestStrangersAreRefused has b listen, and one who is not a dial it.
func TestStrangersAreRefused(t *testing.T) {
	ours, others := locktest.NewAuthority(t), locktest.NewAuthority(t)
	tests := []struct {
		name   string
		a, b   func(*mesh.Config)
		reason string // in what b logs or in what a is told
	}{
		{"no secret", nil, func(c *mesh.Config) { c.Secret = []byte(secret) }, "only one of the two sides has a shared secret"},
		{"another secret", func(c *mesh.Config) { c.Secret = []byte("sixteen other bytes") }, func(c *mesh.Config) { c.Secret = []byte(secret) }, "does not know the shared secret"},
		{"no certificate", nil, func(c *mesh.Config) { c.TLS = ours.Config("b") }, "handshake"},
		{
			"a certificate of nobody's", func(c *mesh.Config) { c.TLS = ours.Config("a"); c.TLS.Certificates = others.Config("a").Certificates },
			func(c *mesh.Config) { c.TLS = ours.Config("b") }, "certificate",
		},
		{"another peer's certificate", func(c *mesh.Config) { c.TLS = ours.Config("c") }, func(c *mesh.Config) { c.TLS = ours.Config("b") }, `the certificate is not that of`},
		{"another server", func(c *mesh.Config) { c.TLS = ours.Config("a") }, func(c *mesh.Config) { c.TLS = ours.Config("c") }, "certificate is valid for c, not b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var logged lockedBuffer
			p := newPair(t, func(cfg *[2]mesh.Config) {
				if tt.a != nil {
					tt.a(&cfg[0])
				}
				tt.b(&cfg[1])
				for i := range cfg {
					cfg[i].Log = slog.New(slog.NewTextHandler(&logged, nil))
				}
			})
			logged.want(t, tt.reason)
			for i := range p.mesh {
				if s := p.mesh[i].Status()[0]; s.Up {
					t.Errorf("peer %d is connected to a stranger", i)
				}
			}
			for i := range p.events {
				select {
				case e := <-p.events[i].events:
					t.Errorf("peer %d: %+v", i, e)
				default:
				}
			}
		})
	}
}

// TestProofsCannotBeReplayed plays back what an honest peer said in an earlier handshake,
// to the same acceptor and to one that has started again, which remembers no handshake.
func TestProofsCannotBeReplayed(t *testing.T) {
	for name, restart := range map[string]bool{"same acceptor": false, "restarted": true} {
		t.Run(name, func(t *testing.T) { sayAgain(t, restart, func(said string) string { return said }) })
	}
}

// TestAcceptorChecksTheProof has a client that does not know the secret, and does not mind
// what the acceptor proves, say all that an honest peer says, with a proof of its own.
func TestAcceptorChecksTheProof(t *testing.T) {
	sayAgain(t, true, func(said string) string {
		hello := 1 + int(said[0]) // in this order: its length, a hello, a proof, heartbeats
		if said[0] >= 0x80 || len(said) < hello+34 {
			t.Fatalf("%q is no hello with a proof", said)
		}
		return said[:hello+33] + string([]byte{said[hello+33] ^ 1}) + said[hello+34:]
	})
}

// sayAgain changes what a said to b, says it to b after a has gone, and wants it refused.
func sayAgain(t *testing.T, restart bool, change func(said string) string) {
	t.Helper()
	p := newPair(t, func(cfg *[2]mesh.Config) {
		for i := range cfg {
			cfg[i].Secret = []byte(secret)
		}
	})
	p.events[0].want("up")
	p.events[1].want("up")
	said, _ := p.link.Said()
	p.link.Cut(true)
	p.events[1].want("down")
	addr := p.cfg[1].Listener.Addr().String()
	if restart {
		if err := p.mesh[1].Close(); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		p.cfg[1].Listener = l
		start(t, p.cfg[1])
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(clock.System().Now().Add(patience))
	if _, err := io.WriteString(conn, change(said)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("want the connection to be closed, got %v", err)
	}
	select {
	case e := <-p.events[1].events:
		t.Errorf("it was believed: %+v", e)
	default:
	}
}

func TestAuthIsChecked(t *testing.T) {
	authority := locktest.NewAuthority(t)
	for want, change := range map[string]func(*mesh.Config){
		"Secret has 5 bytes": func(c *mesh.Config) { c.Secret = []byte("short") },
		"InsecureSkipVerify": func(c *mesh.Config) { c.TLS = authority.Config("a"); c.TLS.InsecureSkipVerify = true },
		"TLS.Certificates":   func(c *mesh.Config) { c.TLS = authority.Config("a"); c.TLS.Certificates = nil },
		"GetConfigForClient": func(c *mesh.Config) {
			c.TLS = authority.Config("a")
			c.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, nil }
		},
		"TLS.RootCAs": func(c *mesh.Config) { c.TLS = &tls.Config{Certificates: authority.Config("a").Certificates} },
	} {
		cfg := mesh.Config{Self: mesh.Peer{ID: "a"}, Handler: newRecorder(t), Timing: mesh.Timing{Heartbeat: time.Second}}
		change(&cfg)
		if m, err := mesh.New(cfg); !errors.Is(err, locks.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("want ErrInvalid with %q, got %v", want, err)
			_ = m.Close()
		}
	}
}
