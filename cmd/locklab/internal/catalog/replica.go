package catalog

import (
	"time"

	"locklab/locks/redis"
	"locklab/nodes/redisnode"
)

// This file is what the servers of redis:replica are told, and its clients.

// ifReplica is how many nodes of a role the variant replica has, and the others.
func ifReplica(nodes, others int) func(redis.Options) int {
	return func(o redis.Options) int {
		if o.Variant == redis.Replica {
			return nodes
		}
		return others
	}
}

func dialIfReplica(roles ...string) func(redis.Options) []string {
	return func(o redis.Options) []string {
		if o.Variant == redis.Replica {
			return roles
		}
		return nil
	}
}

// redisSettings have the first of the servers begin as the primary.
func redisSettings(o redis.Options, members []Member, _ time.Duration) any {
	s := redisnode.Settings{Persistence: o.Persistence}
	if o.Variant != redis.Replica {
		return s
	}
	self, primary, _, _ := split(members)
	s.Replication.Announce = self
	if primary != self {
		s.Replication.Primary = primary
	}
	return s
}

func sentinelSettings(o redis.Options, members []Member, _ time.Duration) any {
	s := redisnode.SentinelSettings{DownAfterMS: o.DownAfter.Milliseconds()}
	s.Announce, s.Primary, s.Replicas, s.Others = split(members)
	return s
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

// replicated is how a master reaches the servers, whatever they call each other.
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
