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
	"os"
	"path/filepath"
	"testing"
	"time"

	"locklab/locks/clock"
)

// Authority signs certificates for tests of TLS.
type Authority struct {
	tb   testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	made int64
}

// NewAuthority makes one, for a day.
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{tb: tb}
	template := a.template("authority of " + tb.Name())
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	a.cert, a.key = template, a.newKey()
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		tb.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		tb.Fatal(err)
	}
	return a
}

func (a *Authority) template(name string) *x509.Certificate {
	a.made++
	now := clock.System().Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.made), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
	}
}

func (a *Authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.tb.Fatal(err)
	}
	return key
}

// Certificate signs one for a server and client of this name, on loopback.
func (a *Authority) Certificate(name string) tls.Certificate {
	a.tb.Helper()
	template, key := a.template(name), a.newKey()
	template.DNSNames, template.IPAddresses = []string{name}, []net.IP{net.IPv4(127, 0, 0, 1)}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.tb.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Config trusts this authority and shows a certificate of this name.
func (a *Authority) Config(name string) *tls.Config {
	a.tb.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
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
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			a.tb.Fatal(err)
		}
		return path
	}
	return write("ca.pem", "CERTIFICATE", a.cert.Raw), write("cert.pem", "CERTIFICATE", c.Certificate[0]), write("key.pem", "PRIVATE KEY", private)
}
