package lab

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"locklab/chaos/fault"
	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/nodes/master"
	"locklab/nodes/role"
)

// resolver finds the nodes behind the selectors holder, leader and primary by asking the
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

// Holder is a master that got the lock of the resource, or some lock if that is "", an instant
// ago. Holds are short, so it asks until it meets one, or until the context ends. Whether it still held the lock when the
// fault hit it is for the history to prove.
func (r resolver) Holder(ctx context.Context, resource string) (string, error) {
	began := clock.Mono()
	nothing := "no master holds a lock"
	if resource != "" {
		nothing = "no master holds the lock of " + resource
	}
	return r.poll(ctx, nothing, func(ctx context.Context) (string, error) {
		for _, m := range r.cluster.topo.NodesOf(role.Master) {
			status, err := r.masterStatus(ctx, m.Name)
			if err != nil { // it may be down; others may hold
				continue
			}
			holds := slices.DeleteFunc(status.Holds, func(h master.Held) bool { return resource != "" && h.Resource != resource })
			if len(holds) == 0 {
				continue
			}
			newest := holds[len(holds)-1]
			if newest.AgeNS <= int64(freshHold) || clock.Mono()-began >= int64(lastHold) {
				return m.Name, nil
			}
		}
		return "", nil
	})
}

// Leader is the server that leads the lock service.
func (r resolver) Leader(ctx context.Context) (string, error) {
	return r.poll(ctx, "no server leads", func(ctx context.Context) (string, error) {
		for _, s := range r.cluster.plan.lock.Servers {
			for _, n := range r.cluster.topo.NodesOf(s.Name) {
				if r.leads(ctx, s.Role, r.cluster.addrs[n.Name][s.ClientPort]) {
					return n.Name, nil
				}
			}
		}
		return "", nil
	})
}

func (r resolver) leads(ctx context.Context, server role.Role, addr string) bool {
	if server.Leads == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	leads, err := server.Leads(ctx, addr) // it may be down; another may lead
	return err == nil && leads
}

// Primary is the server that the nodes name which decide it; the only one, where there is no
// other.
func (r resolver) Primary(ctx context.Context) (string, error) {
	return r.poll(ctx, "nobody names a primary", func(ctx context.Context) (string, error) {
		var latest uint64
		name := ""
		for _, s := range r.cluster.plan.lock.Servers {
			nodes := r.cluster.topo.NodesOf(s.Name)
			if s.Primary == nil && s.Nodes == 1 && len(nodes) == 1 {
				return nodes[0].Name, nil
			}
			for _, n := range nodes {
				if s.Primary == nil {
					continue
				}
				limited, cancel := context.WithTimeout(ctx, time.Second)
				alias, epoch, err := s.Primary(limited, r.cluster.addrs[n.Name][s.ClientPort])
				cancel()
				if is := r.cluster.plan.nodeAt(alias); err == nil && is != "" && (name == "" || epoch > latest) { // others may be down
					name, latest = is, epoch
				}
			}
		}
		return name, nil
	})
}

// poll asks until there is an answer; nothing found when ctx ends is ErrNoTarget.
func (r resolver) poll(ctx context.Context, nothing string, ask func(context.Context) (string, error)) (string, error) {
	for {
		name, err := ask(ctx)
		if err != nil || name != "" {
			return name, err
		}
		if clock.Sleep(ctx, lookEvery) != nil {
			return "", fmt.Errorf("%s: %w: %w", nothing, fault.ErrNoTarget, ctx.Err())
		}
	}
}

func (r resolver) masterStatus(ctx context.Context, name string) (status master.Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	client := httpapi.NewClient(r.cluster.masterURL(name), httpapi.ClientConfig{Name: "master"})
	defer client.Close()
	err = client.Call(ctx, http.MethodGet, "/v1/status", nil, &status)
	return status, err
}
