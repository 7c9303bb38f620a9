package raftnode

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"

	"locklab/internal/must"
	"locklab/locks/locktest"
)

// TestServersPassTheUsersOwnCheckToo sees to it that naming a peer does not replace what
// the configuration checks, such as revocation.
func TestServersPassTheUsersOwnCheckToo(t *testing.T) {
	config := locktest.NewAuthority(t).Config("raft-1")
	peer, err := x509.ParseCertificate(locktest.NewAuthority(t).Certificate("raft-2").Certificate[0])
	must.Do(t, err)
	shown := tls.ConnectionState{PeerCertificates: []*x509.Certificate{peer}}
	check := func() error {
		return newStreams(nil, "raft-1", []Peer{{Name: "raft-2"}}, config).fromPeers().VerifyConnection(shown)
	}
	if err := check(); err != nil {
		t.Error(err)
	}
	revoked := errors.New("revoked")
	config.VerifyConnection = func(tls.ConnectionState) error { return revoked }
	if err := check(); !errors.Is(err, revoked) {
		t.Errorf("want %v, got %v", revoked, err)
	}
	config.VerifyConnection = nil
	shown.PeerCertificates = nil
	if check() == nil {
		t.Error("no certificate was taken for a peer's")
	}
}
