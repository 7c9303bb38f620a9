// Package peertls says what a TLS configuration must have for peers to be told from
// others by it, and whether a certificate is a peer's: the same for every protocol whose
// peers are servers and clients of each other.
package peertls

import (
	"crypto/tls"
	"errors"
)

// Check returns what is wrong with the configuration, or nil.
func Check(t *tls.Config) error {
	switch {
	case t.InsecureSkipVerify:
		return errors.New("TLS.InsecureSkipVerify is set: peers could not be told from others")
	case t.GetConfigForClient != nil:
		return errors.New("TLS.GetConfigForClient is set: what it returns need not ask for a peer's certificate; " +
			"want GetCertificate and GetClientCertificate, which also reload certificates")
	case len(t.Certificates) == 0 && (t.GetCertificate == nil || t.GetClientCertificate == nil):
		return errors.New("TLS.Certificates is empty, want this peer's certificate, for server and client")
	case t.RootCAs == nil:
		return errors.New("TLS.RootCAs is nil, want who signs the peers' certificates")
	}
	return nil
}

// CheckName returns nil if the other end of a connection has shown the certificate of
// the peer with this name. That the certificate is a good one is for the handshake to see.
func CheckName(s tls.ConnectionState, name string) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("no certificate was shown")
	}
	return s.PeerCertificates[0].VerifyHostname(name)
}
