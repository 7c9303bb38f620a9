package raftnode_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/must"
	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/raftlock"
	"locklab/nodes/agent"
	"locklab/nodes/process"
	"locklab/nodes/raftnode"
	"locklab/nodes/role"
)

// processes are three servers, each a process of an agent, with links between them and to clients.
type processes struct {
	t       *testing.T
	dir     string
	agent   *agent.Client
	names   []string
	links   map[string]*locktest.Link // "from>to"
	clients []raftlock.Server
}

func newProcesses(t *testing.T) *processes {
	t.Helper()
	p := &processes{t: t, dir: t.TempDir(), names: []string{"raft-1", "raft-2", "raft-3"}, links: map[string]*locktest.Link{}}
	cfg := agent.DefaultConfig()
	cfg.Host, cfg.Zone, cfg.Token, cfg.DataDir, cfg.Roles = "here", "a", "token", p.dir, []role.Role{raftnode.Role()}
	var err error
	cfg.Executable, err = os.Executable()
	must.Do(t, err)
	a, err := agent.New(cfg)
	must.Do(t, err)
	p.agent = agent.NewClient(a.URL(), cfg.Token)
	t.Cleanup(func() {
		p.agent.Close()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, to := range p.names {
		addrs, err := p.agent.Reserve(t.Context(), to, raftnode.Name)
		must.Do(t, err)
		p.clients = append(p.clients, raftlock.Server{Name: to, Addr: addrs[raftnode.PortClient]})
		for _, from := range p.names {
			if from != to {
				p.links[from+">"+to] = locktest.NewLink(t, addrs[raftnode.PortRaft])
			}
		}
	}
	return p
}

func (p *processes) start(name string) {
	p.t.Helper()
	var s raftnode.Settings
	for _, to := range p.names {
		if to != name {
			s.Peers = append(s.Peers, raftnode.Peer{Name: to, Addr: p.links[name+">"+to].Addr()})
		}
	}
	settings, err := json.Marshal(s)
	must.Do(p.t, err)
	must.Do(p.t, p.agent.Start(p.t.Context(), agent.NodeSpec{Name: name, Role: raftnode.Name, Settings: settings}))
}

// cut cuts two servers off from each other, or heals their links.
func (p *processes) cut(a, b string, off bool) {
	p.links[a+">"+b].Cut(off)
	p.links[b+">"+a].Cut(off)
}

func (p *processes) client() locks.Locker {
	p.t.Helper()
	o := raftlock.DefaultOptions()
	o.Lease = long
	l, err := raftlock.New(raftlock.Config{Servers: p.clients, Client: "test", Options: o, Seed: seed.Seed(1)})
	return locktest.Open(p.t, l, err)
}

// first says whether the server's process was told that it is its first one.
func (p *processes) first(name string) bool {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, "*", "data", process.ConfigFile))
	must.Do(p.t, err)
	for _, f := range files {
		if strings.Contains(f, string(filepath.Separator)+name+string(filepath.Separator)) {
			data, err := os.ReadFile(f)
			must.Do(p.t, err)
			return strings.Contains(string(data), `"first":true`)
		}
	}
	p.t.Fatalf("no config of %s among %q", name, files)
	return false
}

// state is what a server says of itself.
func (p *processes) state(name string) string {
	p.t.Helper()
	i := slices.Index(p.names, name)
	return statusAt(p.t, p.clients[i].Addr).State
}

// TestAServiceIsFoundedOnce: a server that was cut off since its first boot, and one that loses its
// directory while the third is out of reach, are a majority, and know of no election.
func TestAServiceIsFoundedOnce(t *testing.T) {
	t.Parallel()
	p := newProcesses(t)
	late, forgets, keeps := "raft-3", "raft-2", "raft-1"
	p.cut(late, forgets, true)
	p.cut(late, keeps, true)
	for _, name := range p.names {
		p.start(name)
		if !p.first(name) {
			t.Fatalf("the first process of %s does not found", name)
		}
	}
	var last locks.Token
	for range 5 {
		held := locktest.Acquire(t, p.client(), "r")
		last = token(t, held)
		locktest.Release(t, held)
	}
	held := locktest.Acquire(t, p.client(), "held")

	p.cut(forgets, keeps, true)
	p.cut(late, forgets, false)
	must.Do(t, p.agent.Restart(t.Context(), forgets, agent.RestartOptions{Wipe: true}))
	if p.first(forgets) {
		t.Fatal("a restart is told to found the service")
	}
	if state := p.state(forgets); state != "recovering" {
		t.Errorf("a server that has lost its data and hears of one other says that it is %s", state)
	}
	// Long enough for some elections.
	_ = locktest.Refused(t, p.client(), "r", 3*time.Second)

	// Once all reach each other, all is as before.
	p.cut(forgets, keeps, false)
	p.cut(late, keeps, false)
	next := locktest.Acquire(t, p.client(), "r")
	if token(t, next) <= last {
		t.Errorf("token %d after %d", token(t, next), last)
	}
	_ = locktest.Refused(t, p.client(), "held", 300*time.Millisecond)
	mustHold(t, held)
	// The one that forgot votes again: it and the late one go on without the third.
	locktest.Eventually(t, forgets+" to be taught", func() bool { return p.state(forgets) != "recovering" })
	locktest.Release(t, held)
	must.Do(t, p.agent.Kill(t.Context(), keeps))
	locktest.Release(t, next)
	again := locktest.Acquire(t, p.client(), "r")
	if token(t, again) <= token(t, next) {
		t.Errorf("token %d after %d", token(t, again), token(t, next))
	}
	locktest.Release(t, again)
}
