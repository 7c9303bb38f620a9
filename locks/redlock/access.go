package redlock

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/locks"
)

// Access is how clients show the instances who they are. It is the same for all of them.
// A user needs the keys and channels of all resources, and these commands:
//
//	+set +get +del +exists +pexpire +pttl +zadd +zcard +zrange +zrem +zscore
//	+eval +evalsha +publish +subscribe +ping +select +info
//
// INFO shows whether the instance may evict keys. Where it is forbidden that is not checked:
// see to it that maxmemory is 0 or maxmemory-policy is noeviction.
type Access struct {
	Username, Password string // as for go-redis: without a name, that of the default user
	DB                 int    // number of the database
	// TLS, if not nil, is used for every connection. Without a ServerName the instance's
	// certificate is checked for the host of its address.
	TLS *tls.Config
}

func (a Access) validate() error {
	switch {
	case a.DB < 0:
		return fmt.Errorf("access: database %d: want 0 or more: %w", a.DB, locks.ErrInvalid)
	case a.Username != "" && a.Password == "":
		return fmt.Errorf("access: user %q has no password: want one: %w", a.Username, locks.ErrInvalid)
	}
	return nil
}

// options are what go-redis greets an instance with.
func (a Access) options(o *redis.Options) *redis.Options {
	o.Username, o.Password, o.DB = a.Username, a.Password, a.DB
	return o
}

// Dial connects to an instance, through the handshake of TLS if there is to be one.
func (a Access) Dial(ctx context.Context, addr string, timeout time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: timeout}
	if a.TLS == nil {
		return d.DialContext(ctx, "tcp", addr)
	}
	return (&tls.Dialer{NetDialer: &d, Config: a.TLS}).DialContext(ctx, "tcp", addr)
}

// plainConn is a watchedConn that go-redis can ask whether the other end has hung up. Under TLS
// it cannot: what waits there need not be an answer.
type plainConn struct {
	*watchedConn
	syscall.Conn
}

// forRedis is what go-redis gets to see of the connection.
func (t *watchedConn) forRedis() net.Conn {
	if raw, ok := t.Conn.(syscall.Conn); ok {
		return plainConn{t, raw}
	}
	return t
}
