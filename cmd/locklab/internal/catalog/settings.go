package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/lamport"
	"locklab/locks/mesh"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock"
	"locklab/locks/raftlock"
	"locklab/locks/redlock"
	"locklab/locks/ricartagrawala"
	"locklab/locks/seed"
	"locklab/locks/twophase"
)

// Member is a node that a lock's client talks to, with the address of the link.
type Member struct {
	Name string `json:"name"`
	Addr string `json:"addr"`
	Rank int    `json:"rank,omitempty"` // of a peer
}

// Settings is what a master is told of its lock.
type Settings struct {
	Spec string `json:"spec"`
	// Cluster is a name that all masters of the run share.
	Cluster string `json:"cluster"`
	// Rank is this master's priority for peer-to-peer locks; 0 is the highest.
	Rank  int      `json:"rank"`
	Peers []Member `json:"peers,omitempty"` // the other masters
	// Servers are the lock's servers: redis or raft nodes.
	Servers []Member `json:"servers,omitempty"`
	Seed    uint64   `json:"seed"`
}

// Env is what a lock's client is made of inside a master.
type Env struct {
	Settings Settings
	Name     string // of the master
	PeerAddr string // where to listen for peers
	Dir      string // of the master, for what must outlive it
	Log      *slog.Logger
}

// Build makes the client of the lock that the settings name.
func Build(env Env) (locks.Locker, error) {
	spec, err := locks.ParseSpec(env.Settings.Spec)
	if err != nil {
		return nil, err
	}
	entry, err := Lookup(spec)
	if err != nil {
		return nil, err
	}
	return entry.build(spec, env)
}

func (e Env) seed() seed.Seed { return seed.Seed(e.Settings.Seed).Child(e.Name) }

// peers are the other masters as peer-to-peer locks dial them, and where to listen
// for those that dial us.
func (e Env) peers() (peers []mesh.Peer, listener net.Listener, err error) {
	for _, p := range e.Settings.Peers {
		peers = append(peers, mesh.Peer{ID: p.Name, Rank: p.Rank, Addr: p.Addr})
	}
	var listen net.ListenConfig
	if listener, err = listen.Listen(context.Background(), "tcp", e.PeerAddr); err != nil {
		return nil, nil, fmt.Errorf("listen for peers: %w", err)
	}
	return peers, listener, nil
}

// peerConfig is what the locks on the common shell of peers are made of.
func peerConfig[O any](env Env, options O) (peerlock.Config[O], error) {
	peers, listener, err := env.peers()
	return peerlock.Config[O]{
		ID: env.Name, Rank: env.Settings.Rank, Cluster: env.Settings.Cluster, Peers: peers,
		Listener: listener, Options: options, Clock: clock.System(), Seed: env.seed(), Log: env.Log,
		// A new run and a lost folder look the same. Both recover, as is right for the worse.
		StateFile: filepath.Join(env.Dir, "votes"), Lost: true,
	}, err
}

// buildPeer reads the options of such a lock and starts its peer.
func buildPeer[O any, L locks.Locker](spec locks.Spec, env Env, parse func(locks.Spec) (O, error), start func(peerlock.Config[O]) (L, error)) (locks.Locker, error) {
	options, err := parse(spec)
	if err != nil {
		return nil, err
	}
	config, err := peerConfig(env, options)
	if err != nil {
		return nil, err
	}
	return start(config)
}

func buildMultiphase(spec locks.Spec, env Env) (locks.Locker, error) {
	return buildPeer(spec, env, multiphase.ParseOptions, multiphase.New)
}

func buildLamport(spec locks.Spec, env Env) (locks.Locker, error) {
	return buildPeer(spec, env, lamport.ParseOptions, lamport.New)
}

func buildRicartAgrawala(spec locks.Spec, env Env) (locks.Locker, error) {
	return buildPeer(spec, env, ricartagrawala.ParseOptions, ricartagrawala.New)
}

func buildTwoPhase(spec locks.Spec, env Env) (locks.Locker, error) {
	return buildPeer(spec, env, twophase.ParseOptions, twophase.New)
}

func buildRedlock(spec locks.Spec, env Env) (locks.Locker, error) {
	options, err := redlock.ParseOptions(spec)
	if err != nil {
		return nil, err
	}
	var instances []redlock.Instance
	for _, s := range env.Settings.Servers {
		instances = append(instances, redlock.Instance{Name: s.Name, Addr: s.Addr})
	}
	return redlock.New(redlock.Config{
		Addrs: instances, Options: options, Clock: clock.System(), Seed: env.seed(), Log: env.Log,
	})
}

func buildRaft(spec locks.Spec, env Env) (locks.Locker, error) {
	options, err := raftlock.ParseOptions(spec)
	if err != nil {
		return nil, err
	}
	var servers []raftlock.Server
	for _, s := range env.Settings.Servers {
		servers = append(servers, raftlock.Server{Name: s.Name, Addr: s.Addr})
	}
	return raftlock.New(raftlock.Config{
		Servers: servers, Client: env.Name, Options: options, Clock: clock.System(), Seed: env.seed(), Log: env.Log,
	})
}
