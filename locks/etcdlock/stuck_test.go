package etcdlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"locklab/internal/must"
	"locklab/locks/etcdlock"
)

// stuckLeader stands in for a leader whose disk is stuck: it extends leases out of its own
// memory, in a term that is over, and knows of the new term when it is read from. (On real
// servers it takes a frozen file system, and a holder that reaches that member only.)
type stuckLeader struct {
	pb.UnimplementedKVServer
	pb.UnimplementedLeaseServer
	term atomic.Uint64
}

func (s *stuckLeader) LeaseGrant(_ context.Context, r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	return &pb.LeaseGrantResponse{Header: &pb.ResponseHeader{RaftTerm: 1}, ID: 7, TTL: r.TTL}, nil
}

func (s *stuckLeader) LeaseKeepAlive(stream pb.Lease_LeaseKeepAliveServer) error {
	for {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		if err := stream.Send(&pb.LeaseKeepAliveResponse{Header: &pb.ResponseHeader{RaftTerm: 1}, ID: r.ID, TTL: 3}); err != nil {
			return err
		}
	}
}

func (s *stuckLeader) LeaseRevoke(context.Context, *pb.LeaseRevokeRequest) (*pb.LeaseRevokeResponse, error) {
	return &pb.LeaseRevokeResponse{Header: &pb.ResponseHeader{RaftTerm: 1}}, nil
}

func (s *stuckLeader) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Header: &pb.ResponseHeader{RaftTerm: s.term.Load(), Revision: 1}}, nil
}

// Txn grants every lock: the key was put, and it is the first of its prefix.
func (s *stuckLeader) Txn(context.Context, *pb.TxnRequest) (*pb.TxnResponse, error) {
	put := &pb.ResponseOp{Response: &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{Header: &pb.ResponseHeader{}}}}
	owner := &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{Header: &pb.ResponseHeader{}}}}
	return &pb.TxnResponse{Header: &pb.ResponseHeader{RaftTerm: 1, Revision: 1}, Succeeded: true, Responses: []*pb.ResponseOp{put, owner}}, nil
}

func (s *stuckLeader) DeleteRange(context.Context, *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	return &pb.DeleteRangeResponse{Header: &pb.ResponseHeader{}}, nil
}

// TestAStuckLeaderRenewsNothing: a lease lives while the leader that extends it leads, and
// ends by the last extension before another one did.
func TestAStuckLeaderRenewsNothing(t *testing.T) {
	leader := &stuckLeader{}
	leader.term.Store(1)
	server := grpc.NewServer()
	pb.RegisterKVServer(server, leader)
	pb.RegisterLeaseServer(server, leader)
	l := newClient(t, []string{serve(t, server)}, nil, etcdlock.DefaultOptions())
	held, err := l.Acquire(t.Context(), "r")
	must.Do(t, err)
	first, _ := held.Expires()
	for until := first; until.Equal(first); until, _ = held.Expires() {
		time.Sleep(10 * time.Millisecond)
	}
	leader.term.Store(2)
	last, _ := held.Expires()
	select {
	case <-held.Lost():
		if now := time.Now(); now.Before(last.Add(-time.Second)) {
			t.Errorf("lost %v before its end", last.Sub(now))
		}
	case <-time.After(time.Until(last) + 5*time.Second):
		until, _ := held.Expires()
		t.Errorf("a lease that was last extended by a leader to %v still lives, to %v", last, until)
	}
}
