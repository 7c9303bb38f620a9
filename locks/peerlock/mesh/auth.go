package mesh

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"locklab/internal/peertls"
	"locklab/locks"
)

const (
	minSecret = 16 // bytes of Config.Secret
	nonceSize = 32
	tagProof  = 'P'
)

// validateAuth checks what peers are told from others by.
func (c Config) validateAuth() error {
	if n := len(c.Secret); n > 0 && n < minSecret {
		return fmt.Errorf("mesh: Secret has %d bytes, want at least %d, drawn at random: %w", n, minSecret, locks.ErrInvalid)
	}
	if c.TLS == nil {
		return nil
	}
	if err := peertls.Check(c.TLS); err != nil {
		return fmt.Errorf("mesh: %w: %w", err, locks.ErrInvalid)
	}
	return nil
}

// secureDial is the dialing end of a connection to p.
func (m *Mesh) secureDial(conn net.Conn, p *peer) net.Conn {
	if m.cfg.TLS == nil {
		return conn
	}
	t := m.cfg.TLS.Clone()
	t.MinVersion, t.ServerName = tls.VersionTLS13, p.ID
	return tls.Client(conn, t)
}

// secureAccept is the accepting end. Whose certificate it is can be told after the hello,
// see [belongs].
func (m *Mesh) secureAccept(conn net.Conn) net.Conn {
	if m.cfg.TLS == nil {
		return conn
	}
	t := m.cfg.TLS.Clone()
	t.MinVersion, t.ClientAuth = tls.VersionTLS13, tls.RequireAndVerifyClientCert
	if t.ClientCAs == nil {
		t.ClientCAs = t.RootCAs
	}
	return tls.Server(conn, t)
}

// belongs says what is wrong with the certificate of who says that it is p, or "".
func belongs(conn net.Conn, p *peer) string {
	t, ok := conn.(*tls.Conn)
	if !ok {
		return ""
	}
	if err := peertls.CheckName(t.ConnectionState(), p.ID); err != nil {
		return fmt.Sprintf("the certificate is not that of %q: %v", p.ID, err)
	}
	return ""
}

// hangUp closes at once, without a good-bye of TLS, which may block.
func hangUp(conn net.Conn) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	_ = conn.Close() // it is being given up; how the close goes changes nothing
}

// newNonce makes every handshake another one.
func newNonce() string {
	var b [nonceSize]byte
	_, _ = rand.Read(b[:]) // never fails
	return string(b[:])
}

// proof shows that who made it knows the secret, in this handshake and in this part.
func (m *Mesh) proof(part string, dialer, acceptor []byte) []byte {
	mac := hmac.New(sha256.New, m.cfg.Secret)
	for _, field := range [][]byte{[]byte("locklab mesh"), []byte(part), dialer, acceptor} {
		mac.Write(appendFrame(nil, field)) // with its length, so that no two are alike
	}
	return mac.Sum([]byte{tagProof})
}

var errNoProof = errors.New("mesh: no proof")

// proveDialer and proveAcceptor show each other that they know the secret; it is never
// sent. dialer and acceptor are both hellos.
func (m *Mesh) proveDialer(conn net.Conn, dialer, acceptor []byte) error {
	if len(m.cfg.Secret) == 0 {
		return nil
	}
	if err := m.checkProof(conn, "acceptor", dialer, acceptor); err != nil {
		return err
	}
	return writeFrame(conn, m.proof("dialer", dialer, acceptor))
}

func (m *Mesh) proveAcceptor(conn net.Conn, dialer, acceptor []byte) error {
	if len(m.cfg.Secret) == 0 {
		return nil
	}
	if err := writeFrame(conn, m.proof("acceptor", dialer, acceptor)); err != nil {
		return err
	}
	return m.checkProof(conn, "dialer", dialer, acceptor)
}

func (m *Mesh) checkProof(conn net.Conn, part string, dialer, acceptor []byte) error {
	got := make([]byte, 1+1+sha256.Size) // the length, the tag, the sum
	if _, err := io.ReadFull(conn, got); err != nil {
		return fmt.Errorf("read proof: %w", errors.Join(err, errNoProof))
	}
	if want := appendFrame(nil, m.proof(part, dialer, acceptor)); !hmac.Equal(got, want) {
		return fmt.Errorf("the other side does not know the shared secret: %w", ErrRefused)
	}
	return nil
}
