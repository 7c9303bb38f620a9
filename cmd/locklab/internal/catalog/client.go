package catalog

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	json "github.com/go-json-experiment/json/v1"

	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/mesh"
	"locklab/locks/peerlock/peercore"
	"locklab/locks/program"
	"locklab/verify/explore"
	"locklab/verify/sim"
)

// Member is a node as another one reaches it, over a link.
type Member struct {
	Name string `json:"name"`
	Addr string `json:"addr"`
	Rank int    `json:"rank,omitempty"` // of a peer
	Role string `json:"role"`
	// Alias is its address among servers that tell each other addresses, "" elsewhere: see link.Gates.
	Alias string `json:"alias,omitempty"`
	Self  bool   `json:"-"` // it is the node itself
	// Ways lead to the ports that the other node dials, in the order of PeerPorts; Addr is the first link.
	Ways []Way `json:"-"`
}

// Way is how a host reaches a port of a node: the address of the link, and the port's own.
type Way struct{ Link, To string }

// Settings is what a master is told of its lock.
type Settings struct {
	Lock    string         `json:"lock"`
	Options jsontext.Value `json:"options"`           // as the lock's package has read them
	Cluster string         `json:"cluster"`           // all masters of the run share it
	Rank    int            `json:"rank"`              // of this master among peers; 0 is the highest
	Peers   []Member       `json:"peers,omitempty"`   // the other masters
	Servers []Member       `json:"servers,omitempty"` // the lock's
	Seed    uint64         `json:"seed"`
	Program bool           `json:"program,omitempty"` // the lock is the user's: see Env.Command
}

// Settings are a master's for this lock, where a second is the topology's.
func (l Lock) Settings(second time.Duration) (Settings, error) {
	options := l.options
	if _, given := l.Spec.Options["timeout"]; l.far != nil && !given {
		options = l.far(second)
	}
	text, err := json.Marshal(options)
	return Settings{Lock: l.Name, Options: text, Program: l.Program}, err
}

// Env is what a lock's client is made of inside a master.
type Env struct {
	Settings Settings
	Name     string                       // of the master
	Listen   func() (net.Listener, error) // for peers
	Dir      string                       // of the master, for what must outlive it
	Log      *slog.Logger
	Clock    clock.Clock     // of the master
	First    bool            // the master's first process in a run
	Command  program.Command // of a lock that the user brings: it comes from the agent
	Stderr   io.Writer       // of that program
}

// newClient makes the client of the lock that the settings name.
func newClient(env Env) (locks.Locker, error) {
	if env.Settings.Program {
		return programClient(env)
	}
	e, known := find(env.Settings.Lock)
	if !known {
		return nil, fmt.Errorf("unknown lock %q", env.Settings.Lock)
	}
	l, err := e.decode(env.Settings.Options)
	if err != nil {
		return nil, err
	}
	return l.client(env)
}

func (e Env) serverAddrs() (addrs []string) {
	for _, s := range e.Settings.Servers {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

func (e Env) seed() seed.Seed { return seed.Seed(e.Settings.Seed).Child(e.Name) }

// peer makes the client of a lock on the common shell of peers.
func peer[O any, L locks.Locker](start func(peerlock.Config[O]) (L, error), options O) func(Env) (locks.Locker, error) {
	return func(env Env) (locks.Locker, error) {
		var peers []mesh.Peer
		for _, p := range env.Settings.Peers {
			peers = append(peers, mesh.Peer{ID: p.Name, Rank: p.Rank, Addr: p.Addr})
		}
		listener, err := env.Listen()
		if err != nil {
			return nil, fmt.Errorf("listen for peers: %w", err)
		}
		return start(peerlock.Config[O]{
			Config: mesh.Config{
				Self: mesh.Peer{ID: env.Name, Rank: env.Settings.Rank}, Peers: peers, Cluster: env.Settings.Cluster,
				Listener: listener, Clock: env.Clock, Seed: env.seed(), Log: env.Log,
			},
			Options: options,
			// All peers of a run are new with it.
			StateFile: filepath.Join(env.Dir, "votes"), Founding: env.First,
		})
	}
}

// Core is the pure core of a peer-to-peer lock, for exploration and simulation.
type Core struct {
	Simulator sim.Simulator
	Subject   explore.Subject
	// Cohort says that one acquisition serves several clients of a peer. Explorations have one client a peer.
	Cohort bool
}

// core hides the types of an algorithm.
func core[S, M any, P peercore.Core[S, M]](lock peerlock.Protocol[S, M]) *Core {
	return &Core{
		Simulator: sim.New[S, M, P](lock), Subject: explore.Of[S, M, P](lock.Algorithm), Cohort: lock.Cohort.Size > 0,
	}
}
