package etcdlock_test

import (
	"context"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/metadata"

	"locklab/locks/locktest"
)

// TestAWatchNeedsALeader: a member that is cut off from the others is told of no deletion. It
// ends watches that ask for a leader, as here, and leaves all others asleep.
func TestAWatchNeedsALeader(t *testing.T) {
	c := startCluster(t, 1)
	f := newFront(t, c.addrs[0])
	l, holder := newClient(t, []string{f.addr}, nil, long()), newClient(t, c.addrs, nil, long())
	held := locktest.Acquire(t, holder, "r")
	asked := make(chan struct{})
	f.on(watch, func(ctx context.Context) error {
		f.on(watch, nil)
		close(asked)
		if heard, _ := metadata.FromIncomingContext(ctx); len(heard.Get(rpctypes.MetadataRequireLeaderKey)) > 0 {
			return rpctypes.ErrGRPCNoLeader
		}
		<-ctx.Done()
		return ctx.Err()
	})
	waiter := locktest.Later(t, l, "r")
	<-asked
	locktest.Release(t, held)
	locktest.Release(t, <-waiter)
}
