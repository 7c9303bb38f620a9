package catalog

import (
	"slices"
	"sync"
	"time"

	"locklab/locks"
	"locklab/locks/etcdlock"
	"locklab/locks/lamport"
	"locklab/locks/local"
	"locklab/locks/multiphase"
	multiphasecore "locklab/locks/multiphase/core"
	"locklab/locks/multiphase/quorum"
	"locklab/locks/none"
	"locklab/locks/pglock"
	"locklab/locks/raftlock"
	"locklab/locks/redis"
	"locklab/locks/redlock"
	"locklab/locks/redsync"
	"locklab/locks/twophase"
	"locklab/locks/zklock"
	"locklab/nodes/etcdnode"
	"locklab/nodes/postgresnode"
	"locklab/nodes/raftnode"
	"locklab/nodes/redisnode"
	"locklab/nodes/zookeepernode"
	"locklab/verify/sim"
)

// Entries lists the locks in the order in which reports show them.
func Entries() []Entry { return slices.Clone(entries()) }

// entries are made once: each reads its own options, to list them.
var entries = sync.OnceValue(func() []Entry { //nolint:gochecknoglobals // it never changes
	return []Entry{
		binding[struct{}]{
			name: "none", control: true,
			summary: "no lock: every acquisition is granted at once",
			parse:   noOptions,
			traits:  func(struct{}) locks.Traits { return locks.Traits{Agree: locks.AgreeNobody} },
			client:  func(struct{}, Env) (locks.Locker, error) { return none.New(), nil },
		}.entry(),
		binding[struct{}]{
			name: "local", control: true,
			summary: "one mutex per resource inside each master: exact in one process, nothing beyond it",
			parse:   noOptions,
			traits:  func(struct{}) locks.Traits { return locks.Traits{Agree: locks.AgreeNobody} },
			client:  func(struct{}, Env) (locks.Locker, error) { return local.New(), nil },
		}.entry(),
		binding[multiphase.Options]{
			name:    multiphase.Name,
			summary: "peer-to-peer mutual exclusion with fixed priorities; no server; splits when the network does, but for the variant quorum",
			source:  "the document Multiphase Lock",
			parse:   multiphase.ParseOptions,
			traits: func(o multiphase.Options) locks.Traits {
				switch {
				case o.Quorum == nil:
					return locks.Traits{Agree: locks.AgreeConnected}
				case o.Quorum.Rules.Disk:
					return locks.Traits{Agree: locks.AgreePeers, Lease: locks.LeaseOwn, Keeps: locks.KeepsEverything, Tokens: true}
				default:
					return locks.Traits{Agree: locks.AgreePeers, Lease: locks.LeaseOwn, Keeps: locks.KeepsNothing, Tokens: true}
				}
			},
			client: peer(multiphase.New),
			lease:  func(o multiphase.Options) time.Duration { return o.Lease().TTL },
			disk:   func(o multiphase.Options) bool { return o.Quorum != nil && o.Quorum.Rules.Disk },
			core: func(o multiphase.Options) Core {
				shell := sim.Shell{Cohort: o.LocalWaiters(), Lease: o.Lease()}
				if o.Quorum != nil {
					return core(o.QuorumAlgorithm(), (*quorum.State).Phase, shell)
				}
				return core(o.Algorithm(), (*multiphasecore.State).Phase, shell)
			},
		}.entry(),
		binding[lamport.Options]{
			name:    lamport.Name,
			summary: "Lamport's queue of timestamped requests, acknowledged by every peer; a dead peer blocks it",
			source:  "L. Lamport, Time, Clocks, and the Ordering of Events in a Distributed System, 1978",
			parse:   lamport.ParseOptions,
			traits:  func(o lamport.Options) locks.Traits { return allPeers(o.Detect) },
			client:  peer(lamport.New),
			core:    func(o lamport.Options) Core { return core(o.Algorithm(), (*lamport.State).Phase, sim.Shell{}) },
		}.entry(),
		binding[lamport.Options]{
			name:    lamport.RicartAgrawala,
			summary: "Ricart and Agrawala's deferred replies: the fewest messages; a dead peer blocks it",
			source:  "G. Ricart, A. K. Agrawala, An Optimal Algorithm for Mutual Exclusion in Computer Networks, 1981",
			parse:   lamport.ParseOptions,
			traits:  func(o lamport.Options) locks.Traits { return allPeers(o.Detect) },
			client:  peer(lamport.New),
			core:    func(o lamport.Options) Core { return core(o.Algorithm(), (*lamport.State).Phase, sim.Shell{}) },
		}.entry(),
		binding[twophase.Options]{
			name:    twophase.Name,
			summary: "two-phase commit of a reservation at every master; a participant that is gone blocks it",
			source:  "J. Gray, Notes on Data Base Operating Systems, 1978",
			parse:   twophase.ParseOptions,
			traits:  func(twophase.Options) locks.Traits { return allPeers(false) },
			client:  peer(twophase.New),
			core: func(o twophase.Options) Core {
				return core(o.Algorithm(), (*twophase.State).Phase, sim.Shell{Pause: o.Delay})
			},
		}.entry(),
		binding[redlock.Options]{
			name:    "redlock",
			summary: "a quorum of independent Redis primaries, leases by expiry, no fencing token",
			source:  "Distributed Locks with Redis, redis.io",
			parse:   redlock.ParseOptions,
			traits: func(o redlock.Options) locks.Traits {
				return locks.Traits{Agree: locks.AgreeServers, Lease: locks.LeaseServer, Keeps: redisKeeps(o.Persistence)}
			},
			client: func(o redlock.Options, env Env) (locks.Locker, error) {
				return redlock.New(redlock.Config{Addrs: env.serverAddrs(), Options: o, Clock: env.Clock, Seed: env.seed(), Log: env.Log})
			},
			servers: []server[redlock.Options]{{role: redisnode.Role(), settings: func(o redlock.Options, _ []Member, _ time.Duration) any {
				return redisnode.Settings{Persistence: o.Persistence}
			}}},
			lease: func(o redlock.Options) time.Duration { return o.TTL },
			away:  redlock.Options.Away,
			disk:  func(o redlock.Options) bool { return o.Persistence != redisnode.PersistNone },
		}.entry(),
		binding[redsync.Options]{
			name:    "redsync",
			summary: "Redlock as the public library go-redsync has it, to compare with; nothing extends its leases",
			source:  "github.com/go-redsync/redsync/v4",
			parse:   redsync.ParseOptions,
			traits: func(o redsync.Options) locks.Traits {
				return locks.Traits{Agree: locks.AgreeServers, Lease: locks.LeaseServer, Keeps: redisKeeps(o.Persistence)}
			},
			client: func(o redsync.Options, env Env) (locks.Locker, error) {
				return redsync.New(redsync.Config{Addrs: env.serverAddrs(), Options: o}), nil
			},
			servers: []server[redsync.Options]{{role: redisnode.Role(), settings: func(o redsync.Options, _ []Member, _ time.Duration) any {
				return redisnode.Settings{Persistence: o.Persistence}
			}}},
			lease: func(o redsync.Options) time.Duration { return o.TTL },
			away:  redsync.Options.Away,
			disk:  func(o redsync.Options) bool { return o.Persistence != redisnode.PersistNone },
		}.entry(),
		binding[redis.Options]{
			name:    "redis",
			summary: "one Redis server, leases by expiry, no fencing token; as variants the ways to lock that came before and after, and a primary with a replica and Sentinels",
			source:  "Distributed Locks with Redis, redis.io",
			parse:   redis.ParseOptions,
			traits: func(o redis.Options) locks.Traits {
				t := locks.Traits{Agree: locks.AgreeServer, Lease: locks.LeaseServer, Keeps: redisKeeps(o.Persistence)}
				switch {
				case o.Variant == redis.SetNXGetSet:
					t.Lease = locks.LeaseClient
				case o.Variant == redis.Replica && o.Wait > 0:
					t.Replica = locks.ReplicaAcked
				case o.Variant == redis.Replica:
					t.Replica = locks.ReplicaAsync
				}
				return t
			},
			client: func(o redis.Options, env Env) (locks.Locker, error) {
				c := redis.Config{Addr: env.Settings.Servers[0].Addr, Options: o, Clock: env.Clock, Seed: env.seed(), Log: env.Log}
				if o.Variant == redis.Replica {
					c.Replicated = replicated(env.Settings.Servers)
				}
				return redis.New(c)
			},
			servers: []server[redis.Options]{
				{role: redisnode.Role(), settings: redisSettings, nodes: ifReplica(2, 1), dials: dialIfReplica(redisnode.Name)},
				{role: redisnode.SentinelRole(), settings: sentinelSettings, nodes: ifReplica(0, -1), dials: dialIfReplica(redisnode.Name, redisnode.SentinelName)},
			},
			lease: func(o redis.Options) time.Duration { return o.TTL },
			away:  redis.Options.Away,
			disk:  func(o redis.Options) bool { return o.Persistence != redisnode.PersistNone },
		}.entry(),
		binding[raftlock.Options]{
			name:    "raft",
			summary: "a lock service on hashicorp/raft: log on disk, FIFO waiters, sessions, fencing tokens",
			source:  "D. Ongaro, J. Ousterhout, In Search of an Understandable Consensus Algorithm, 2014",
			parse:   raftlock.ParseOptions,
			traits: func(o raftlock.Options) locks.Traits {
				t := locks.Traits{Agree: locks.AgreeServers, Lease: locks.LeaseOwn, Keeps: locks.KeepsEverything, Tokens: true}
				if o.Store == raftnode.StoreMemory {
					t.Keeps = locks.KeepsNothing
				}
				return t
			},
			client: func(o raftlock.Options, env Env) (locks.Locker, error) {
				var servers []raftlock.Server
				for _, s := range env.Settings.Servers {
					servers = append(servers, raftlock.Server{Name: s.Name, Addr: s.Addr})
				}
				return raftlock.New(raftlock.Config{
					Servers: servers, Client: env.Name, Options: o, Clock: env.Clock, Seed: env.seed(), Log: env.Log,
				})
			},
			servers: []server[raftlock.Options]{{role: raftnode.Role(), settings: func(o raftlock.Options, others []Member, _ time.Duration) any {
				s := raftnode.Settings{Store: o.Store}
				for _, m := range others {
					s.Peers = append(s.Peers, raftnode.Peer{Name: m.Name, Addr: m.Addr})
				}
				return s
			}}},
			lease: func(o raftlock.Options) time.Duration { return o.Lease },
			disk:  func(o raftlock.Options) bool { return o.Store != raftnode.StoreMemory },
			caveat: func(o raftlock.Options) string {
				if o.Store == raftnode.StoreMemory {
					return "raft with store=memory does not write to disk: never compare it with one that does"
				}
				return ""
			},
		}.entry(),
		binding[etcdlock.Options]{
			name:    etcdlock.Name,
			summary: "etcd's own lock (concurrency.Mutex) on three members: leases, waiters in order of creation, fencing tokens",
			source:  "go.etcd.io/etcd/client/v3/concurrency",
			parse:   etcdlock.ParseOptions,
			traits: func(etcdlock.Options) locks.Traits {
				return locks.Traits{Agree: locks.AgreeServers, Lease: locks.LeaseOwn, Keeps: locks.KeepsEverything, Tokens: true}
			},
			client: func(o etcdlock.Options, env Env) (locks.Locker, error) {
				return etcdlock.New(etcdlock.Config{Addrs: env.serverAddrs(), Options: o})
			},
			servers: []server[etcdlock.Options]{{role: etcdnode.Role(), settings: func(_ etcdlock.Options, others []Member, second time.Duration) any {
				s := etcdnode.Settings{Election: min(second, etcdnode.MaxElection)}
				for _, m := range others {
					s.Peers = append(s.Peers, etcdnode.Peer{Name: m.Name, Addr: m.Addr})
				}
				return s
			}}},
			lease: func(o etcdlock.Options) time.Duration { return o.TTL },
			disk:  func(etcdlock.Options) bool { return true },
		}.entry(),
		binding[zklock.Options]{
			name:    zklock.Name,
			summary: "ZooKeeper's recipe on three servers: sessions, waiters in order of creation, fencing tokens; as an option the herd",
			source:  "ZooKeeper Recipes and Solutions, Locks",
			parse:   zklock.ParseOptions,
			traits: func(zklock.Options) locks.Traits {
				return locks.Traits{Agree: locks.AgreeServers, Lease: locks.LeaseOwn, Keeps: locks.KeepsEverything, Tokens: true}
			},
			client: func(o zklock.Options, env Env) (locks.Locker, error) {
				return zklock.New(zklock.Config{Addrs: env.serverAddrs(), Options: o}), nil
			},
			servers: []server[zklock.Options]{{role: zookeepernode.Role(), settings: func(_ zklock.Options, others []Member, _ time.Duration) any {
				var s zookeepernode.Settings
				for _, m := range others {
					port := func(i int) zookeepernode.Port { return zookeepernode.Port{Addr: m.Ways[i].To, Link: m.Ways[i].Link} }
					s.Peers = append(s.Peers, zookeepernode.Peer{Name: m.Name, Quorum: port(0), Election: port(1)})
				}
				return s
			}}},
			lease: func(o zklock.Options) time.Duration { return o.Session },
			disk:  func(zklock.Options) bool { return true },
		}.entry(),
		binding[pglock.Options]{
			name:    pglock.Name,
			summary: "one PostgreSQL server: a row locked in an open transaction; as variants advisory locks and leased rows",
			source:  "PostgreSQL manual, Explicit Locking",
			parse:   pglock.ParseOptions,
			traits: func(o pglock.Options) locks.Traits {
				t := locks.Traits{Agree: locks.AgreeServer, Keeps: locks.KeepsEverything, Tokens: true}
				if o.Variant == pglock.Lease {
					t.Lease = locks.LeaseServer
				}
				return t
			},
			timeout: func(o *pglock.Options) (*time.Duration, time.Duration) { return &o.Timeout, o.TTL / 2 },
			client: func(o pglock.Options, env Env) (locks.Locker, error) {
				return pglock.New(pglock.Config{URL: postgresnode.URL(env.serverAddrs()[0]), Options: o, Clock: env.Clock, Seed: env.seed()})
			},
			servers: []server[pglock.Options]{{
				role:     postgresnode.Role(),
				settings: func(pglock.Options, []Member, time.Duration) any { return postgresnode.Settings{} },
				nodes:    func(pglock.Options) int { return 1 },
			}},
			lease: pglock.Options.Away,
			disk:  func(o pglock.Options) bool { return o.Variant != pglock.Advisory }, // which writes nothing
		}.entry(),
	}
})

// DefaultLocks are compared when the user names none.
func DefaultLocks() []string {
	return []string{"none", "local", "multiphase", "multiphase:quorum", "redlock", "raft"}
}

// allPeers are the traits of locks that wait for every peer, unless they detect which are gone.
func allPeers(detect bool) locks.Traits {
	if detect {
		return locks.Traits{Agree: locks.AgreeConnected}
	}
	return locks.Traits{Agree: locks.AgreeAll}
}

// redisKeeps is how much a Redis server keeps through a crash.
func redisKeeps(persistence string) string {
	switch persistence {
	case redisnode.PersistNone:
		return locks.KeepsNothing
	case redisnode.PersistEverySec:
		return locks.KeepsEachSecond
	default:
		return locks.KeepsEverything
	}
}

// noOptions is for locks that have none.
func noOptions(spec locks.Spec) (struct{}, error) {
	r := spec.Reader()
	r.Variant()
	return struct{}{}, r.Err()
}
