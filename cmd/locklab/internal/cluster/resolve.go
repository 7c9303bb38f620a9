package cluster

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"locklab/chaos/fault"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/nodes/master"
	"locklab/nodes/role"
	"locklab/nodes/topology"
)

// resolver finds holder, leader and primary: it asks masters and lock servers over control connections.
type resolver struct{ cluster *Cluster }

var _ fault.Resolver = resolver{}

const (
	// lookEvery is the pause between two rounds of questions, and answerTime bounds each of them.
	lookEvery  = 5 * time.Millisecond
	answerTime = time.Second
	// freshHold is the age up to which a hold will last until its holder is hit. After lastHold any hold will do.
	freshHold = 10 * time.Millisecond
	lastHold  = time.Second
)

// Holder is a master that just got the lock of the resource, or any lock if that is "". Holds are short, so it asks
// until ctx ends. The history proves whether the master still held when the fault hit it.
func (r resolver) Holder(ctx context.Context, resource string) (string, error) {
	began := clock.Mono()
	nothing := "no master holds a lock"
	if resource != "" {
		nothing = "no master holds the lock of " + resource
	}
	return r.poll(ctx, nothing, func() string {
		for _, m := range r.cluster.layout.Topology.NodesOf(role.Master) {
			status, err := r.masterStatus(ctx, m.Name)
			if err != nil {
				continue
			}
			for _, h := range slices.Backward(status.Holds) {
				if resource != "" && h.Resource != resource {
					continue
				}
				if h.AgeNS <= int64(freshHold) || clock.Mono()-began >= int64(lastHold) {
					return m.Name
				}
				break // the others are older
			}
		}
		return ""
	})
}

// Leader is the server that leads the lock service.
func (r resolver) Leader(ctx context.Context) (leader string, err error) {
	return r.poll(ctx, "no server leads", func() (name string) {
		r.eachServer(ctx, func(ctx context.Context, s catalog.Server, n topology.Placed, addr string) {
			if name != "" || s.Leads == nil {
				return
			}
			if leads, err := s.Leads(ctx, addr); err == nil && leads {
				name = n.Name
			}
		})
		return name
	})
}

// Primary is the server that deciding nodes name, or the only one.
func (r resolver) Primary(ctx context.Context) (string, error) {
	return r.poll(ctx, "no node names a primary", func() (name string) {
		var latest uint64
		r.eachServer(ctx, func(ctx context.Context, s catalog.Server, n topology.Placed, addr string) {
			if s.Primary == nil {
				if s.Nodes == 1 {
					name = n.Name
				}
				return
			}
			alias, epoch, err := s.Primary(ctx, addr)
			if is := r.cluster.layout.nodeAt(alias); err == nil && is != "" && (name == "" || epoch > latest) {
				name, latest = is, epoch
			}
		})
		return name
	})
}

// eachServer calls ask for each of the lock's servers, with the address at which clients dial it.
func (r resolver) eachServer(ctx context.Context, ask func(context.Context, catalog.Server, topology.Placed, string)) {
	for _, s := range r.cluster.layout.lock.Servers {
		for _, n := range r.cluster.layout.Topology.NodesOf(s.Name) {
			limited, cancel := context.WithTimeout(ctx, answerTime)
			ask(limited, s, n, r.cluster.addrs[n.Name][s.ClientPort])
			cancel()
		}
	}
}

// poll asks until there is an answer. Its error is ErrNoTarget if ctx ends before.
func (r resolver) poll(ctx context.Context, nothing string, ask func() string) (string, error) {
	for {
		if name := ask(); name != "" {
			return name, nil
		}
		if clock.Sleep(ctx, lookEvery) != nil {
			return "", fmt.Errorf("%s: %w: %w", nothing, fault.ErrNoTarget, ctx.Err())
		}
	}
}

func (r resolver) masterStatus(ctx context.Context, name string) (status master.Status, err error) {
	client := httpapi.NewClient(r.cluster.masterURL(name), httpapi.ClientConfig{Name: "master", Timeout: answerTime})
	defer client.Close()
	err = client.Call(ctx, http.MethodGet, "/v1/status", nil, &status)
	return status, err
}
