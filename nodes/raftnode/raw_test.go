package raftnode_test

import (
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/locks/raftlock/wire"
)

// raw is a client that does what a test says, and nothing else.
type raw struct {
	t    *testing.T
	conn *wire.Conn
}

func dialRaw(t *testing.T, c *cluster, lease time.Duration) *raw {
	t.Helper()
	conn, err := wire.Dial(t.Context(), c.client[c.leader()])
	must.Do(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	r := &raw{t, conn}
	r.send(wire.ClientFrame{Hello: &wire.Hello{Client: "raw", Lease: lease}})
	if r.recv().Attached == nil {
		t.Fatal("not attached")
	}
	return r
}

func (r *raw) send(f wire.ClientFrame) {
	r.t.Helper()
	must.Do(r.t, r.conn.Send(f))
}

func (r *raw) recv() (f wire.ServerFrame) {
	r.t.Helper()
	must.Do(r.t, r.conn.Receive(&f))
	return f
}

func (r *raw) acquire(seq uint64, resource string) {
	r.t.Helper()
	r.send(wire.ClientFrame{Floor: 1, Requests: []wire.Request{{Kind: wire.Acquire, Seq: seq, Resource: resource}}})
}

func (r *raw) release(seq, claim uint64) {
	r.t.Helper()
	r.send(wire.ClientFrame{Floor: 1, Requests: []wire.Request{{Kind: wire.Release, Seq: seq, Claim: claim}}})
}

// answer waits for the one answer that is due.
func (r *raw) answer(seq uint64) wire.Answer {
	r.t.Helper()
	answers := r.recv().Answers
	if len(answers) != 1 || answers[0].Seq != seq {
		r.t.Fatalf("answers %v, want one to %d", answers, seq)
	}
	return answers[0]
}
