package peertls_test

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"

	"locklab/internal/must"
	"locklab/internal/peertls"
	"locklab/locks/locktest"
)

func TestCheck(t *testing.T) {
	authority := locktest.NewAuthority(t)
	good := authority.Config("a")
	reloading := &tls.Config{
		RootCAs:              good.RootCAs,
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &good.Certificates[0], nil },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &good.Certificates[0], nil },
		MinVersion:           tls.VersionTLS13,
	}
	for _, c := range []*tls.Config{good, reloading} {
		if err := peertls.Check(c); err != nil {
			t.Error(err)
		}
	}
	for want, change := range map[string]func(*tls.Config){
		"TLS.InsecureSkipVerify is set": func(c *tls.Config) { c.InsecureSkipVerify = true },
		"TLS.GetConfigForClient is set: what it returns need not ask for a peer's certificate; want GetCertificate and GetClientCertificate": func(c *tls.Config) {
			c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return good, nil }
		},
		"TLS.Certificates is empty": func(c *tls.Config) { c.GetClientCertificate = nil },
		"TLS.RootCAs is nil":        func(c *tls.Config) { c.RootCAs = nil },
	} {
		bad := reloading.Clone()
		change(bad)
		if err := peertls.Check(bad); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestCheckName(t *testing.T) {
	a, err := x509.ParseCertificate(locktest.NewAuthority(t).Certificate("a").Certificate[0])
	must.Do(t, err)
	shown := tls.ConnectionState{PeerCertificates: []*x509.Certificate{a}}
	if err := peertls.CheckName(shown, "a"); err != nil {
		t.Error(err)
	}
	if peertls.CheckName(shown, "b") == nil {
		t.Error("the certificate of a was taken for that of b")
	}
	if peertls.CheckName(tls.ConnectionState{}, "a") == nil {
		t.Error("no certificate was taken for that of a")
	}
}
