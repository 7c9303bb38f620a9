package catalog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/prometheus/client_golang/prometheus"

	"locklab/internal/seed"
	"locklab/internal/strictjson"
	"locklab/locks"
	"locklab/locks/program"
	"locklab/nodes/master"
	"locklab/nodes/process"
	"locklab/nodes/role"
	"locklab/nodes/worker"
	"locklab/workloads/capacity"
	"locklab/workloads/fencedwrite"
	"locklab/workloads/history"
	"locklab/workloads/mutex"
)

// Roles are what agents can run, with these lock programs.
func Roles(programs Programs) []role.Role {
	return append([]role.Role{masters(programs), worker.Role(store())}, ServerRoles()...)
}

// RoleNames are those of Roles, which a topology may use.
func RoleNames() (names []string) {
	for _, r := range Roles(nil) {
		names = append(names, r.Name)
	}
	return names
}

// The ports of a master.
const (
	PortHTTP = "http" // players and the controller
	PortPeer = "peer" // the peers of the lock, in other masters
)

// MasterSettings are those of the matchmaker and of its lock.
type MasterSettings struct {
	Master jsontext.Value `json:"master"`
	Lock   Settings       `json:"lock"`
	Token  string         `json:"token"` // that orders must bear: only the controller has it
}

// masters are the role master: the matchmaker, the client of the lock under test, and what workloads have masters do.
// A master's settings cannot name a program other than these.
func masters(programs Programs) role.Role {
	return role.Role{
		Name: role.Master, Ports: []string{PortHTTP, PortPeer}, ClientPort: PortHTTP, PeerPorts: []string{PortPeer},
		Main: runMaster, OwnClock: true, Points: true,
		Env: func(settings []byte) ([]string, error) {
			all, _, err := parseMaster(settings)
			if err != nil {
				return nil, err
			}
			env, _ := process.Environment(settings) // it refuses no settings
			if !all.Lock.Program {
				return env, nil
			}
			command, known := programs[all.Lock.Lock]
			if !known {
				return nil, fmt.Errorf("this agent runs no program for the lock %s: want --lock-cmd %s=COMMAND where it is started",
					all.Lock.Lock, all.Lock.Lock)
			}
			text, err := json.Marshal(command)
			return append(env, commandVariable+"="+string(text)), err
		},
	}
}

// commandVariable is where a master finds the command of its lock program, set by its agent.
const commandVariable = "LOCKLAB_LOCK_CMD"

func parseMaster(text []byte) (all MasterSettings, settings master.Settings, err error) {
	if err := process.DecodeSettings(text, &all); err != nil {
		return all, settings, err
	}
	settings, err = master.ParseSettings(all.Master)
	return all, settings, err
}

func runMaster(ctx context.Context, node *process.Node) (err error) {
	all, settings, err := parseMaster(node.Settings)
	if err != nil {
		return err
	}
	listen := func() (net.Listener, error) { return new(net.ListenConfig).Listen(ctx, "tcp", node.Addrs[PortPeer]) }
	var command program.Command
	if all.Lock.Program {
		if err := strictjson.Decode([]byte(os.Getenv(commandVariable)), &command); err != nil {
			return fmt.Errorf("read what runs the lock %s: %w", settings.Lock, err)
		}
	}
	locker, err := newClient(Env{
		Settings: all.Lock, Name: node.Name, Listen: listen, Dir: node.Dir, Log: node.Log, Command: command,
		Stderr: os.Stderr, Clock: node.Clock, First: node.First,
	})
	if err != nil {
		return fmt.Errorf("build lock %s: %w", settings.Lock, err)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if f, ok := locker.(locks.Failer); ok { // a master whose lock is gone is of no use until it starts again
		go func() {
			select {
			case err := <-f.Failed():
				end(fmt.Errorf("lock %s: %w", settings.Lock, err))
			case <-ctx.Done():
			}
		}()
	}
	tracker := master.Track(locker, node.Points) // the status must also show what the raw workloads hold
	defer func() { err = errors.Join(err, tracker.Close()) }()
	var stores []fencedwrite.Address
	for _, w := range settings.Workers {
		stores = append(stores, fencedwrite.Address{Name: w.Name, URL: "http://" + w.Addr})
	}
	clients := mutex.Config{
		Node: node.Name, Token: all.Token, Locker: tracker, Recorder: node.Recorder,
		Granted: func(resource string) { node.Points.Pass(history.PointGranted, resource) },
	}
	holders := fencedwrite.Handler(fencedwrite.Config{Stores: stores, StoreToken: settings.WorkerToken, Config: clients})
	defer holders.Close()
	mounts := map[string]http.Handler{
		mutex.Path: holders, capacity.Path: capacity.Handler(node.Name, all.Token, tracker),
	}
	m := master.New(ctx, settings, master.Deps{
		Recorder: node.Recorder, Locker: tracker, Log: node.Log, Mounts: mounts,
		Seed: seed.Seed(all.Lock.Seed).Child(node.Name + "/master"),
	})
	prometheus.WrapRegistererWith(prometheus.Labels{"lock": settings.Lock}, node.Metrics).MustRegister(tracker, m)
	err = m.Serve(ctx, node.Addrs[PortHTTP], func(net.Addr) { node.Ready() })
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}
