// Package nodebody is what runs inside the node processes: it decodes what the
// controller sent, builds the lock, and wires master, worker and raft server.
package nodebody

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/locks/clock"
	"locklab/locks/seed"
	"locklab/nodes/bearer"
	"locklab/nodes/master"
	"locklab/nodes/process"
	"locklab/nodes/raftnode"
	"locklab/nodes/redisnode"
	"locklab/nodes/role"
	"locklab/nodes/worker"
	"locklab/workloads/mutex"
)

// Roles are what the agents of the lab can run.
func Roles() []role.Role {
	return []role.Role{
		{Name: role.Master, Ports: []string{"http", "peer"}, Own: true, Command: checked(checkMaster)},
		{Name: role.Worker, Ports: []string{"http"}, Own: true, Command: checked(checkWorker)},
		raftnode.Role(),
		redisnode.Role(),
	}
}

// checked refuses wrong settings before a process is started; what is started is
// locklab itself, which the agent knows.
func checked(check func(json.RawMessage) error) func(role.Node) (role.Command, error) {
	return func(n role.Node) (role.Command, error) {
		return role.Command{Env: environment()}, check(n.Settings)
	}
}

// environment is what masters and workers find in theirs. A request passes through
// several goroutines of a node and none of them computes much: on one processor they
// hand over without waking threads, and the nodes of a lab share few of those. A
// small heap that is collected less often costs a few megabytes.
func environment() []string { return []string{"GOMAXPROCS=1", "GOGC=400"} }

// Bodies maps a role to what its process does.
func Bodies() map[string]process.Main {
	return map[string]process.Main{
		role.Master: runMaster,
		role.Worker: runWorker,
		role.Raft:   raftnode.Main,
		role.Redis:  redisnode.Main, // the stand-in, where there is no redis-server
	}
}

// Master is the settings of a master's process: of the matchmaker, and of its lock.
type Master struct {
	Master json.RawMessage  `json:"master"`
	Lock   catalog.Settings `json:"lock"`
	// Token is what orders to the master must bear: they come from the controller only.
	Token string `json:"token"`
}

func parseMaster(text json.RawMessage) (all Master, settings master.Settings, err error) {
	if err := process.DecodeSettings(text, &all); err != nil {
		return all, settings, err
	}
	settings, err = master.ParseSettings(all.Master)
	return all, settings, err
}

func checkMaster(text json.RawMessage) error {
	_, _, err := parseMaster(text)
	return err
}

func checkWorker(text json.RawMessage) error {
	_, err := worker.ParseSettings(text)
	return err
}

// WorkloadPrefix is where a master serves the raw lock workloads.
const WorkloadPrefix = "/v1/workload/"

func runMaster(ctx context.Context, node *process.Node) (err error) {
	all, settings, err := parseMaster(node.Settings)
	if err != nil {
		return err
	}
	lock := all.Lock
	locker, err := catalog.Build(catalog.Env{Settings: lock, Name: node.Name, PeerAddr: node.Addrs["peer"], Dir: node.Dir, Log: node.Log})
	if err != nil {
		return fmt.Errorf("build lock %s: %w", lock.Spec, err)
	}
	tracker := master.Track(locker) // the status must also show what the raw workloads hold
	defer func() { err = errors.Join(err, tracker.Close()) }()
	raw := mutex.Handler(node.Name, tracker, node.Recorder)
	defer raw.Close()
	return master.Run(ctx, settings, master.Deps{
		Recorder: node.Recorder,
		Locker:   tracker,
		Clock:    clock.System(),
		Log:      node.Log,
		Seed:     seed.Seed(lock.Seed).Child(node.Name + "/master"),
		Mounts:   map[string]http.Handler{WorkloadPrefix: bearer.Guard(all.Token, raw)},
	}, node.Addrs["http"], func(net.Addr) { node.Ready() })
}

func runWorker(ctx context.Context, node *process.Node) error {
	settings, err := worker.ParseSettings(node.Settings)
	if err != nil {
		return err
	}
	return worker.Run(ctx, settings, worker.Deps{Recorder: node.Recorder, Clock: clock.System(), Log: node.Log},
		node.Addrs["http"], func(net.Addr) { node.Ready() })
}
