package locktest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"path/filepath"
	"testing"
	"time"

	"locklab/internal/testfile"
	"locklab/locks/clock"
)

// Authority signs certificates for tests of TLS.
type Authority struct {
	tb   testing.TB
	own  tls.Certificate
	made int64
}

// NewAuthority makes one, for a day.
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{tb: tb}
	a.own = a.sign("authority of "+tb.Name(), &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// Certificate signs one for a server and client of this name, on loopback.
func (a *Authority) Certificate(name string) tls.Certificate {
	a.tb.Helper()
	return a.sign(name, &x509.Certificate{
		DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

// sign makes a key and its certificate. That of the authority is signed by itself.
func (a *Authority) sign(name string, c *x509.Certificate) tls.Certificate {
	a.tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.tb.Fatal(err)
	}
	a.made++
	now := clock.System().Now()
	c.SerialNumber, c.Subject = big.NewInt(a.made), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = now.Add(-time.Hour), now.Add(24*time.Hour)
	parent, by := a.own.Leaf, a.own.PrivateKey
	if c.IsCA {
		parent, by = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		a.tb.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.tb.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// Config trusts this authority and shows a certificate of this name.
func (a *Authority) Config(name string) *tls.Config {
	a.tb.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(a.own.Leaf)
	return &tls.Config{Certificates: []tls.Certificate{a.Certificate(name)}, RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// Files writes the authority's certificate, and one of this name with its key, as PEM.
func (a *Authority) Files(name string) (ca, cert, key string) {
	a.tb.Helper()
	c := a.Certificate(name)
	private, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		a.tb.Fatal(err)
	}
	dir := a.tb.TempDir()
	write := func(file, kind string, der []byte) string {
		path := filepath.Join(dir, file)
		testfile.Write(a.tb, path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
		return path
	}
	return write("ca.pem", "CERTIFICATE", a.own.Leaf.Raw), write("cert.pem", "CERTIFICATE", c.Certificate[0]), write("key.pem", "PRIVATE KEY", private)
}
