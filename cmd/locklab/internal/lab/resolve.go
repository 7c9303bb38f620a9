package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"locklab/chaos/fault"
	"locklab/locks/clock"
	pb "locklab/locks/raftlock/raftlockpb"
	"locklab/nodes/master"
	"locklab/nodes/role"
)

// resolver finds the nodes behind the selectors holder and leader by asking the
// masters and the lock servers, over control connections.
type resolver struct{ cluster *cluster }

var _ fault.Resolver = resolver{}

// lookEvery is the pause between two rounds of questions.
const lookEvery = 5 * time.Millisecond

const (
	// freshHold is how old a hold may be to be still there when its holder is stopped;
	// lastHold is for how long a fresh one is looked for before any will do.
	freshHold = 10 * time.Millisecond
	lastHold  = time.Second
)

// Holder is a master that got some lock an instant ago. Holds are short, so it asks
// until it meets one, or until the context ends. Whether it still held the lock when the
// fault hit it is for the history to prove.
func (r resolver) Holder(ctx context.Context) (string, error) {
	began := clock.Mono()
	return r.poll(ctx, "no master holds a lock", func(ctx context.Context) (string, error) {
		for _, m := range r.cluster.topo.NodesOf(role.Master) {
			status, err := r.masterStatus(ctx, m.Name)
			if err != nil || len(status.Holds) == 0 { // it may be down; others may hold
				continue
			}
			newest := status.Holds[len(status.Holds)-1]
			if newest.AgeNS <= int64(freshHold) || clock.Mono()-began >= int64(lastHold) {
				return m.Name, nil
			}
		}
		return "", nil
	})
}

// Leader is the server that leads the lock service.
func (r resolver) Leader(ctx context.Context) (string, error) {
	return r.poll(ctx, "no raft server leads", func(ctx context.Context) (string, error) {
		for _, n := range r.cluster.topo.NodesOf(role.Raft) {
			if status, err := r.raftStatus(ctx, n.Name); err == nil && status.GetState() == "leader" {
				return n.Name, nil
			}
		}
		return "", nil
	})
}

// poll asks until there is an answer; nothing found when ctx ends is ErrNoTarget.
func (r resolver) poll(ctx context.Context, nothing string, ask func(context.Context) (string, error)) (string, error) {
	for {
		name, err := ask(ctx)
		if err != nil || name != "" {
			return name, err
		}
		wait := clock.System().NewTimer(lookEvery)
		select {
		case <-wait.C():
		case <-ctx.Done():
			wait.Stop()
			return "", fmt.Errorf("%s: %w: %w", nothing, fault.ErrNoTarget, ctx.Err())
		}
	}
}

func (r resolver) masterStatus(ctx context.Context, name string) (status master.Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.cluster.masterURL(name)+"/v1/status", nil)
	if err != nil {
		return status, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return status, err
	}
	err = json.NewDecoder(response.Body).Decode(&status)
	return status, errors.Join(err, response.Body.Close())
}

func (r resolver) raftStatus(ctx context.Context, name string) (*pb.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := grpc.NewClient(r.cluster.addrs[name]["client"], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	status, err := pb.NewLockServiceClient(conn).Status(ctx, &pb.StatusRequest{})
	return status, errors.Join(err, conn.Close())
}
