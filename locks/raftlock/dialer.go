package raftlock

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"locklab/internal/seed"
	pb "locklab/locks/raftlock/raftlockpb"
)

// dialer chooses which server to talk to next. One goroutine uses it.
type dialer struct {
	names []string
	conns []*grpc.ClientConn
	rand  *rand.Rand
	at    int // which server is tried next
	tries int // since the last success
}

func newDialer(servers []Server, s seed.Seed) (*dialer, error) {
	d := &dialer{rand: s.Rand()}
	for _, server := range servers {
		conn, err := grpc.NewClient("passthrough:///"+server.Addr,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
			// This client decides itself when to try again.
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.5, MaxDelay: 250 * time.Millisecond},
				MinConnectTimeout: time.Second,
			}))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("server %s at %s: %w", server.Name, server.Addr, err), d.close())
		}
		d.names = append(d.names, server.Name)
		d.conns = append(d.conns, conn)
	}
	d.at = d.rand.IntN(len(d.conns))
	return d, nil
}

// service is the server to try now.
func (d *dialer) service() (name string, service pb.LockServiceClient) {
	d.conns[d.at].ResetConnectBackoff()
	return d.names[d.at], pb.NewLockServiceClient(d.conns[d.at])
}

func (d *dialer) succeeded() { d.tries = 0 }

// failed chooses the next server, the one that was hinted at if it is known, and
// says how long to wait before it is tried.
func (d *dialer) failed(hint string) time.Duration {
	d.tries++
	if next := slices.Index(d.names, hint); next >= 0 {
		d.at = next
		if d.tries <= len(d.conns) {
			return 0 // a hint is worth following at once, unless they go in circles
		}
	} else {
		d.at = (d.at + 1) % len(d.conns)
	}
	if d.tries < len(d.conns) {
		return 0
	}
	return 15*time.Millisecond + time.Duration(d.rand.Int64N(int64(30*time.Millisecond)))
}

func (d *dialer) close() error {
	var errs []error
	for _, conn := range d.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}
