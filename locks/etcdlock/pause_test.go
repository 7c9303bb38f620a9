package etcdlock_test

import (
	"context"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"locklab/locks/etcdlock"
	"locklab/locks/locktest"
)

// TestGrantedTooLate: the process stands still while its claim is answered, for longer than the
// lease lasts. (The clock only leaps, so that what renews the lease has not noticed when
// the claim's answer comes.)
func TestGrantedTooLate(t *testing.T) {
	c := startCluster(t, 1)
	f := newFront(t, c.addrs[0])
	o := etcdlock.DefaultOptions()
	o.TTL *= 100
	o.Timeout *= 20                                                             // nothing is asked for twice
	clk := &locktest.Leaping{Caught: o.TTL / 3, Timers: make(chan func(), 100)} // between renewals
	l := newClient(t, []string{f.addr}, clk, o)
	caught, letGo, _ := f.catch(t, txn)
	got := locktest.Later(t, l, "r")
	<-caught
	<-clk.Timers // the first renewal is over: the next one does not see that the clock leapt
	clk.Leap(o.TTL)
	letGo()
	lease := <-got
	if until, _ := lease.Expires(); !clk.Now().Before(until) {
		t.Errorf("granted at %v, to %v", clk.Now(), until)
	}
	locktest.Release(t, lease)
}

// otherTTL stands in for an etcd that grants another time than was asked for, as one does whose
// elections take long.
type otherTTL struct {
	stuckLeader
	ttl int64
}

func (s *otherTTL) LeaseGrant(context.Context, *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	return &pb.LeaseGrantResponse{Header: &pb.ResponseHeader{RaftTerm: 1}, ID: 7, TTL: s.ttl}, nil
}

func (s *otherTTL) LeaseKeepAlive(stream pb.Lease_LeaseKeepAliveServer) error {
	for {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		if err := stream.Send(&pb.LeaseKeepAliveResponse{Header: &pb.ResponseHeader{RaftTerm: 1}, ID: r.ID, TTL: s.ttl}); err != nil {
			return err
		}
	}
}

// TestWhatIsGrantedCounts, not what was asked for: a lease is renewed after a third of that, and given up a
// twentieth of it early.
func TestWhatIsGrantedCounts(t *testing.T) {
	for _, granted := range []time.Duration{3 * time.Second, 300 * time.Second} {
		s := &otherTTL{ttl: int64(granted / time.Second)}
		s.term.Store(1)
		server := grpc.NewServer()
		pb.RegisterKVServer(server, s)
		pb.RegisterLeaseServer(server, s)
		o := etcdlock.DefaultOptions()
		o.TTL = 30 * time.Second
		clk := &locktest.Leaping{Caught: granted / 3, Timers: make(chan func(), 100)}
		before := clk.Now()
		lease := locktest.Acquire(t, newClient(t, []string{serve(t, server)}, clk, o), "r")
		select {
		case <-clk.Timers: // until the renewal
		case <-locktest.Within(t).Done():
			t.Fatalf("granted %v: not renewed after a third of it", granted)
		}
		if until, _ := lease.Expires(); until.After(clk.Now().Add(granted-granted/20)) || until.Before(before) {
			t.Errorf("granted %v: believed for %v", granted, until.Sub(before))
		}
	}
}
