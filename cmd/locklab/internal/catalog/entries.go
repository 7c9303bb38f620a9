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
)

// Entries lists the locks in the order in which reports show them.
func Entries() []Entry { return slices.Clone(entries()) }

// entries are made once: each reads its own options, to list them.
var entries = sync.OnceValue(func() []Entry { //nolint:gochecknoglobals // it never changes
	return []Entry{
		entry(Entry{
			Name: "none", Control: true,
			Summary: "no lock: every acquisition is granted at once",
		}, noOptions, func(struct{}) Lock {
			return Lock{
				Traits: locks.Traits{Agree: locks.AgreeNobody},
				client: func(Env) (locks.Locker, error) { return none.New(), nil },
			}
		}),
		entry(Entry{
			Name: "local", Control: true,
			Summary: "one mutex per resource inside each master: exact in one process, nothing beyond it",
		}, noOptions, func(struct{}) Lock {
			return Lock{
				Traits: locks.Traits{Agree: locks.AgreeNobody},
				client: func(Env) (locks.Locker, error) { return local.New(), nil },
			}
		}),
		entry(Entry{
			Name: multiphase.Name,
			Summary: "peer-to-peer mutual exclusion with fixed priorities; no server; " +
				"splits when the network does, but for the variant quorum",
			Source: "the document Multiphase Lock",
		}, multiphase.ParseOptions, func(o multiphase.Options) Lock {
			l := Lock{client: peer(multiphase.New, o)}
			if o.Quorum == nil {
				l.Traits = locks.Traits{Agree: locks.AgreeConnected}
				l.Core = core(o.Protocol())
				return l
			}
			l.Lease = o.Quorum.TTL
			l.OnDisk = true
			l.Traits = locks.Traits{
				Agree: locks.AgreePeers, Lease: locks.LeaseOwn, Keeps: locks.KeepsEverything, Tokens: true,
			}
			l.Core = core(o.QuorumProtocol())
			return l
		}),
		entry(Entry{
			Name:    lamport.Name,
			Summary: "Lamport's queue of timestamped requests, acknowledged by every peer; a dead peer blocks it",
			Source:  "L. Lamport, Time, Clocks, and the Ordering of Events in a Distributed System, 1978",
		}, lamport.ParseOptions, ofLamport),
		entry(Entry{
			Name:    lamport.RicartAgrawala,
			Summary: "Ricart and Agrawala's deferred replies: the fewest messages; a dead peer blocks it",
			Source: "G. Ricart, A. K. Agrawala, An Optimal Algorithm for Mutual Exclusion in Computer Networks, " +
				"1981",
		}, lamport.ParseOptions, ofLamport),
		entry(Entry{
			Name:    twophase.Name,
			Summary: "two-phase commit of a reservation at every master; a participant that is gone blocks it",
			Source:  "J. Gray, Notes on Data Base Operating Systems, 1978",
		}, twophase.ParseOptions, func(o twophase.Options) Lock {
			return Lock{
				Traits: locks.Traits{Agree: locks.AgreeAll},
				client: peer(twophase.New, o),
				Core:   core(o.Protocol()),
			}
		}),
		entry(Entry{
			Name:    "redlock",
			Summary: "a quorum of independent Redis primaries, leases by expiry, no fencing token",
			Source:  "Distributed Locks with Redis, redis.io",
		}, redlock.ParseOptions, func(o redlock.Options) Lock {
			l := onRedis(locks.AgreeServers, o)
			l.client = func(env Env) (locks.Locker, error) {
				return redlock.New(redlock.Config{
					Addrs: env.serverAddrs(), Options: o, Clock: env.Clock, Seed: env.seed(),
				})
			}
			return l
		}),
		entry(Entry{
			Name:    "redsync",
			Summary: "Redlock as the public library go-redsync has it, to compare with; nothing extends its leases",
			Source:  "github.com/go-redsync/redsync/v4",
		}, redsync.ParseOptions, func(o redsync.Options) Lock {
			l := onRedis(locks.AgreeServers, o.Options)
			l.client = func(env Env) (locks.Locker, error) {
				return redsync.New(redsync.Config{Addrs: env.serverAddrs(), Options: o}), nil
			}
			return l
		}),
		entry(Entry{
			Name: "redis",
			Summary: "one Redis server, leases by expiry, no fencing token; " +
				"as variants the ways to lock that came before and after, and a primary with a replica and Sentinels",
			Source: "Distributed Locks with Redis, redis.io",
		}, redis.ParseOptions, func(o redis.Options) Lock {
			l := onRedis(locks.AgreeServer, o.Options)
			if o.Variant == redis.SetNXGetSet {
				l.Traits.Lease = locks.LeaseClient
			}
			if l.Servers[0].Nodes = 1; o.Variant == redis.Replica {
				l.Servers = replicatedServers(o)
				l.Traits.Replica = locks.ReplicaAsync
				if o.Wait > 0 {
					l.Traits.Replica = locks.ReplicaAcked
				}
			}
			l.client = func(env Env) (locks.Locker, error) {
				c := redis.Config{
					Addr: env.Settings.Servers[0].Addr, Options: o, Clock: env.Clock, Seed: env.seed(), Log: env.Log,
				}
				if o.Variant == redis.Replica {
					c.Replicated = replicated(env.Settings.Servers)
				}
				return redis.New(c)
			}
			return l
		}),
		entry(Entry{
			Name:    "raft",
			Summary: "a lock service on hashicorp/raft: log on disk, FIFO waiters, sessions, fencing tokens",
			Source:  "D. Ongaro, J. Ousterhout, In Search of an Understandable Consensus Algorithm, 2014",
		}, raftlock.ParseOptions, func(o raftlock.Options) Lock {
			l := service(o.Lease)
			if !o.Sync {
				l.Traits.Keeps = locks.KeepsSyncedLater
			}
			l.Servers = []Server{{Role: raftnode.Role(), Settings: func(others []Member, _ time.Duration) any {
				s := raftnode.Settings{NoSync: !o.Sync}
				for _, m := range others {
					s.Peers = append(s.Peers, raftnode.Peer{Name: m.Name, Addr: m.Addr})
				}
				return s
			}}}
			l.client = func(env Env) (locks.Locker, error) {
				var servers []raftlock.Server
				for _, s := range env.Settings.Servers {
					servers = append(servers, raftlock.Server{Name: s.Name, Addr: s.Addr})
				}
				return raftlock.New(raftlock.Config{
					Servers: servers, Client: env.Name, Options: o, Clock: env.Clock, Seed: env.seed(), Log: env.Log,
				})
			}
			return l
		}),
		entry(Entry{
			Name: etcdlock.Name,
			Summary: "etcd's own lock (concurrency.Mutex) on three members: " +
				"leases, waiters in order of creation, fencing tokens",
			Source: "go.etcd.io/etcd/client/v3/concurrency",
		}, etcdlock.ParseOptions, func(o etcdlock.Options) Lock {
			l := service(o.TTL)
			l.Servers = []Server{{Role: etcdnode.Role(), Settings: func(others []Member, second time.Duration) any {
				s := etcdnode.Settings{Election: min(second, etcdnode.MaxElection)}
				for _, m := range others {
					s.Peers = append(s.Peers, etcdnode.Peer{Name: m.Name, Addr: m.Addr})
				}
				return s
			}}}
			l.client = func(env Env) (locks.Locker, error) {
				return etcdlock.New(etcdlock.Config{Addrs: env.serverAddrs(), Options: o})
			}
			return l
		}),
		entry(Entry{
			Name: zklock.Name,
			Summary: "ZooKeeper's recipe on three servers: " +
				"sessions, waiters in order of creation, fencing tokens; as an option the herd",
			Source: "ZooKeeper Recipes and Solutions, Locks",
		}, zklock.ParseOptions, func(o zklock.Options) Lock {
			l := service(o.Session)
			l.Servers = []Server{{Role: zookeepernode.Role(), Settings: func(others []Member, _ time.Duration) any {
				var s zookeepernode.Settings
				for _, m := range others {
					port := func(i int) zookeepernode.Port {
						return zookeepernode.Port{Addr: m.Ways[i].To, Link: m.Ways[i].Link}
					}
					s.Peers = append(s.Peers, zookeepernode.Peer{Name: m.Name, Quorum: port(0), Election: port(1)})
				}
				return s
			}}}
			l.client = func(env Env) (locks.Locker, error) {
				return zklock.New(zklock.Config{Addrs: env.serverAddrs(), Options: o}), nil
			}
			return l
		}),
		entry(Entry{
			Name: pglock.Name,
			Summary: "one PostgreSQL server: a row locked in an open transaction; " +
				"as variants advisory locks and leased rows",
			Source: "PostgreSQL manual, Explicit Locking",
		}, pglock.ParseOptions, func(o pglock.Options) Lock {
			l := Lock{
				Traits: locks.Traits{Agree: locks.AgreeServer, Keeps: locks.KeepsEverything, Tokens: true},
				Servers: []Server{{Role: postgresnode.Role(), Nodes: 1, Settings: func([]Member, time.Duration) any {
					return postgresnode.Settings{SynchronousCommit: o.Commit}
				}}},
				Lease:  o.Away(),
				OnDisk: o.Variant != pglock.Advisory, // which writes nothing
				client: func(env Env) (locks.Locker, error) {
					return pglock.New(pglock.Config{
						URL: postgresnode.URL(env.serverAddrs()[0]), Options: o, Clock: env.Clock, Seed: env.seed(),
					})
				},
				far: func(second time.Duration) any {
					far := o
					far.Timeout = max(o.Timeout, min(o.TTL/2, time.Duration(float64(o.Timeout)*second.Seconds())))
					return far
				},
			}
			if o.Variant == pglock.Lease {
				l.Traits.Lease = locks.LeaseServer
			}
			if o.Commit == "off" {
				l.Traits.Keeps = locks.KeepsSyncedLater
			}
			return l
		}),
	}
})

// ofLamport is Lamport's lock, and Ricart and Agrawala's.
func ofLamport(o lamport.Options) Lock {
	l := Lock{
		Traits: locks.Traits{Agree: locks.AgreeAll},
		client: peer(lamport.New, o),
		Core:   core(o.Protocol()),
	}
	if o.Detect {
		l.Traits.Agree = locks.AgreeConnected
	}
	return l
}

// service is what locks with sessions on a majority of servers with disks have in common.
func service(session time.Duration) Lock {
	return Lock{
		Traits: locks.Traits{
			Agree: locks.AgreeServers, Lease: locks.LeaseOwn, Keeps: locks.KeepsEverything, Tokens: true,
		},
		Lease:  session,
		OnDisk: true,
	}
}

// onRedis is what locks on Redis have in common.
func onRedis(agree string, o redlock.Options) Lock {
	keeps := locks.KeepsEverything
	switch o.Persistence {
	case redisnode.PersistNone:
		keeps = locks.KeepsNothing
	case redisnode.PersistEverySec:
		keeps = locks.KeepsSyncedLater
	}
	return Lock{
		Traits: locks.Traits{Agree: agree, Lease: locks.LeaseServer, Keeps: keeps},
		Servers: []Server{{Role: redisnode.Role(), Settings: func([]Member, time.Duration) any {
			return redisnode.Settings{Persistence: o.Persistence}
		}}},
		Lease:  o.TTL,
		Away:   o.Away(),
		OnDisk: o.Persistence != redisnode.PersistNone,
	}
}

// DefaultLocks are compared when the user names none.
func DefaultLocks() []string {
	return []string{"none", "local", "multiphase", "multiphase:quorum", "redlock", "raft"}
}

// replicatedServers are a primary with a replica, and Sentinels. The first server begins as the primary.
func replicatedServers(o redis.Options) []Server {
	ofServer := func(members []Member, _ time.Duration) any {
		self, primary, _, _ := split(members)
		s := redisnode.Settings{Persistence: o.Persistence}
		if s.Replication.Announce = self; primary != self {
			s.Replication.Primary = primary
		}
		return s
	}
	ofSentinel := func(members []Member, _ time.Duration) any {
		s := redisnode.SentinelSettings{DownAfterMS: o.DownAfter.Milliseconds()}
		s.Announce, s.Primary, s.Replicas, s.Others = split(members)
		return s
	}
	server, sentinel := redisnode.Name, redisnode.SentinelName
	return []Server{
		{Role: redisnode.Role(), Nodes: 2, Dials: []string{server}, Settings: ofServer},
		{Role: redisnode.SentinelRole(), Dials: []string{server, sentinel}, Settings: ofSentinel},
	}
}

// split tells the members of a replicated lock apart, by their aliases.
func split(members []Member) (self, primary string, replicas, otherSentinels []string) {
	for _, m := range members {
		switch {
		case m.Self && m.Role == redisnode.SentinelName:
		case m.Role == redisnode.SentinelName:
			otherSentinels = append(otherSentinels, m.Alias)
		case primary == "":
			primary = m.Alias
		default:
			replicas = append(replicas, m.Alias)
		}
		if m.Self {
			self = m.Alias
		}
	}
	return self, primary, replicas, otherSentinels
}

// replicated maps the addresses that servers tell each other to those at which a master reaches them.
func replicated(servers []Member) redis.Replicated {
	r := redis.Replicated{Service: redisnode.Service}
	at := map[string]string{}
	for _, m := range servers {
		if m.Role == redisnode.SentinelName {
			r.Sentinels = append(r.Sentinels, m.Addr)
		} else {
			at[m.Alias] = m.Addr
		}
	}
	r.Reach = func(addr string) string { return at[addr] }
	return r
}

func noOptions(spec locks.Spec) (struct{}, error) {
	r := spec.Reader()
	r.Variant()
	return struct{}{}, r.Err()
}
