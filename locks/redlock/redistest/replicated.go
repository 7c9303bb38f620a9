package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/locks/locktest"
)

// Service is the Sentinels' name for the primary.
const Service = "lock"

// Replicated is a primary with one replica and three Sentinels.
type Replicated struct {
	Primary, Replica *Server // their roles at the start
	Sentinels        []*Server
}

// StartReplicated starts them and returns when all see each other.
func StartReplicated(tb testing.TB) *Replicated {
	tb.Helper()
	r := &Replicated{Primary: Start(tb, 1)[0]}
	host, port, _ := net.SplitHostPort(r.Primary.addr) // always has both
	r.Replica = start(tb, 1, []string{"--replicaof", host, port, "--repl-diskless-sync-delay", "0"})[0]
	locktest.Eventually(tb, "the replica follows", func() bool {
		info, _ := r.Replica.Do("info", "replication").(string)
		return strings.Contains(info, "master_link_status:up")
	})
	for i := range 3 {
		s := &Server{tb: tb, Name: fmt.Sprintf("sentinel-%d", i+1), addr: locktest.FreeAddr(tb)}
		_, own, _ := net.SplitHostPort(s.addr)
		file := filepath.Join(tb.TempDir(), "sentinel.conf")
		text := fmt.Sprintf("port %s\nbind 127.0.0.1\nsentinel monitor %s %s %s 2\n"+
			"sentinel down-after-milliseconds %[2]s 1000\nsentinel failover-timeout %[2]s 6000\n", own, Service, host, port)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
		s.sentinel = file
		s.Start()
		tb.Cleanup(s.Kill)
		r.Sentinels = append(r.Sentinels, s)
	}
	for _, s := range r.Sentinels {
		locktest.Eventually(tb, s.Name+" sees all others", func() bool {
			return s.says("master", "num-slaves:1", "num-other-sentinels:2", "flags:master ")
		})
	}
	return r
}

// says reports whether the Sentinel's answer about the primary or its replicas has all parts.
func (s *Server) says(about string, parts ...string) bool {
	text := fmt.Sprint(s.Do("sentinel", about, Service))
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// Cut ends replication: the primary refuses its replica from now on. Other clients still reach both.
func (r *Replicated) Cut() {
	r.Primary.Do("acl", "setuser", "default", "-psync", "-sync")
	r.Primary.Do("client", "kill", "type", "replica")
}

// AwaitFailover returns when all Sentinels name the replica.
func (r *Replicated) AwaitFailover() {
	_, port, _ := net.SplitHostPort(r.Replica.addr)
	for _, s := range r.Sentinels {
		locktest.Eventually(r.Replica.tb, s.Name+" names the replica", func() bool {
			return s.says("master", "port:"+port+" ")
		})
	}
}

// ReplicaIsSeen reports whether all Sentinels reach the replica, so that they may promote it.
func (r *Replicated) ReplicaIsSeen() bool {
	return !slices.ContainsFunc(r.Sentinels, func(s *Server) bool { return !s.says("replicas", "flags:slave ") })
}
