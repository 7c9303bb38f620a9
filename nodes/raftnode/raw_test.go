package raftnode_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"locklab/internal/must"
	pb "locklab/locks/raftlock/raftlockpb"
)

// raw is a client that does what a test says, and nothing else.
type raw struct {
	t      *testing.T
	stream pb.LockService_SessionClient
}

func dialRaw(t *testing.T, c *cluster, lease time.Duration) *raw {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+c.client[c.leader()], grpc.WithTransportCredentials(insecure.NewCredentials()))
	must.Do(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := pb.NewLockServiceClient(conn).Session(ctx)
	must.Do(t, err)
	t.Cleanup(func() {
		cancel()
		_ = conn.Close()
	})
	r := &raw{t, stream}
	r.send(&pb.ClientFrame{Hello: &pb.Hello{Client: "raw", LeaseMs: uint64(lease.Milliseconds())}})
	if r.recv().GetAttached() == nil {
		t.Fatal("not attached")
	}
	return r
}

func (r *raw) send(f *pb.ClientFrame) {
	r.t.Helper()
	must.Do(r.t, r.stream.Send(f))
}

func (r *raw) recv() *pb.ServerFrame {
	r.t.Helper()
	f, err := r.stream.Recv()
	must.Do(r.t, err)
	return f
}

func (r *raw) acquire(seq uint64, resource string) {
	r.t.Helper()
	r.send(&pb.ClientFrame{Floor: 1, Requests: []*pb.Request{{Kind: pb.Kind_ACQUIRE, Seq: seq, Resource: resource}}})
}

func (r *raw) release(seq, claim uint64) {
	r.t.Helper()
	r.send(&pb.ClientFrame{Floor: 1, Requests: []*pb.Request{{Kind: pb.Kind_RELEASE, Seq: seq, Claim: claim}}})
}

// answer waits for the one answer that is due.
func (r *raw) answer(seq uint64) *pb.Answer {
	r.t.Helper()
	answers := r.recv().GetAnswers()
	if len(answers) != 1 || answers[0].GetSeq() != seq {
		r.t.Fatalf("answers %v, want one to %d", answers, seq)
	}
	return answers[0]
}

func (r *raw) granted(seq uint64) uint64 { r.t.Helper(); return r.answer(seq).GetToken() }

func (r *raw) outcome(seq uint64) string { r.t.Helper(); return r.answer(seq).GetOutcome().String() }

func (r *raw) end() string { r.t.Helper(); return r.recv().GetEnd().GetReason().String() }
