package raftnode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"locklab/locks/clock"
	"locklab/locks/raftlock/wire"
)

// Settings is what the controller sends to a server, as JSON.
type Settings struct {
	// Peers are the other servers of the service, whose membership is fixed.
	Peers []Peer `json:"peers"`
	// NoSync makes the server not wait for its disk: a power cut may lose log entries.
	NoSync bool `json:"no_sync,omitempty"`
}

// Peer is another server as this server's host reaches it.
type Peer struct {
	Name string `json:"name"`
	// Addr is the address to dial for the peer's raft port: on a lab host, the link's proxy.
	Addr string `json:"addr"`
}

// Config configures a server.
type Config struct {
	// Name is the server's name in the service, and in hints to clients.
	Name string
	// Dir is the data directory; it must exist.
	Dir string
	// ClientAddr and RaftAddr are the addresses (host:port) to listen on.
	ClientAddr, RaftAddr string
	Settings             Settings
	// Founds must be set for the first process of this server, and never again. With an empty Dir it then founds
	// the service, together with the other servers. Without Founds an empty Dir means lost data, and the server
	// does not start.
	Founds bool
	// SnapshotEntries is the number of log entries between snapshots; zero is 16384.
	SnapshotEntries uint64

	Clock clock.Clock // measures leases
	Log   *slog.Logger
}

// ErrForgot says that a server has lost its data.
var ErrForgot = errors.New("raftnode: this server is not new and its directory is empty")

// Server is a running server of the lock service.
type Server struct {
	clientLis net.Listener
	raftLis   net.Listener
	hub       *hub
	raft      *raft.Raft
	stores    *stores
	log       *slog.Logger

	failed  chan error // of capacity 1
	running sync.WaitGroup
	closers []func() error // called in reverse order
}

const (
	// heartbeat is the time after which a follower without a leader calls an election; each wait
	// is drawn from one to two times this. A leader steps down after five sixths of it without a
	// quorum.
	heartbeat = 300 * time.Millisecond
	// rpcTimeout bounds one message between servers.
	rpcTimeout = 600 * time.Millisecond
	// snapshotCheck is the interval at which a server checks for a due snapshot; raft draws it
	// from one to two times this.
	snapshotCheck = time.Second
	// watchEvery is the interval at which a leader checks for sessions whose lease has ended.
	watchEvery = 25 * time.Millisecond
)

// Start starts a server. It listens when Start returns, and serves when it is elected leader.
// The context bounds only the start.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg.SnapshotEntries = cmp.Or(cfg.SnapshotEntries, 16384)
	s := &Server{hub: newHub(cfg), log: cfg.Log, failed: make(chan error, 1)}
	if err := s.start(ctx, cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("start raft server %s: %w", cfg.Name, err), s.Close())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, cfg Config) error {
	var err error
	var listen net.ListenConfig
	if s.clientLis, err = listen.Listen(ctx, "tcp", cfg.ClientAddr); err != nil {
		return err
	}
	s.closers = append(s.closers, s.clientLis.Close)
	if s.raftLis, err = listen.Listen(ctx, "tcp", cfg.RaftAddr); err != nil {
		return err
	}
	logger := newRaftLogger(cfg.Log)
	peers := &peers{Listener: s.raftLis, name: cfg.Name, addrs: map[raft.ServerAddress]string{}}
	for _, p := range cfg.Settings.Peers {
		peers.addrs[raft.ServerAddress(p.Name)] = p.Addr
	}
	trans := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: peers, Logger: logger, MaxPool: 4, Timeout: rpcTimeout,
	})
	s.closers = append(s.closers, func() error {
		trans.CloseStreams()
		return trans.Close()
	})
	if s.stores, err = openStores(cfg.Dir, logger, s.fail); err != nil {
		return err
	}
	s.closers = append(s.closers, s.stores.close)

	leadership := make(chan bool, 64)
	conf := raftConfig(cfg)
	conf.Logger, conf.NotifyCh = logger, leadership
	if err := s.found(cfg, conf, trans); err != nil {
		return err
	}
	s.stores.disk.noSync.Store(cfg.Settings.NoSync) // only now, so that the membership is synced
	if s.raft, err = raft.NewRaft(conf, s.hub, s.stores.log, s.stores.stable, s.stores.snapshots, trans); err != nil {
		return fmt.Errorf("start raft: %w", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // outlives Start
	s.closers = append(s.closers, func() error {
		cancel()
		err := s.raft.Shutdown().Error()
		s.running.Wait()
		return err
	})
	s.hub.propose = func(entry []byte) { s.raft.Apply(entry, 0) }
	s.hub.leader, s.hub.status = s.leader, s.status
	s.running.Go(func() {
		if err := s.hub.accept(ctx, s.clientLis, &s.running); err != nil {
			s.fail(err)
		}
	})
	s.running.Go(func() { s.followLeadership(ctx, leadership) })
	s.running.Go(func() {
		for clock.Sleep(ctx, watchEvery) == nil {
			s.hub.watch()
		}
	})
	return nil
}

func raftConfig(cfg Config) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(cfg.Name)
	conf.HeartbeatTimeout, conf.ElectionTimeout = heartbeat, heartbeat
	conf.LeaderLeaseTimeout = heartbeat * 5 / 6
	conf.CommitTimeout = 50 * time.Millisecond
	// Entries that arrive while the disk is busy wait in a buffer of this size, and are then stored together.
	conf.MaxAppendEntries, conf.BatchApplyCh = cachedEntries, true
	conf.SnapshotThreshold = cfg.SnapshotEntries
	conf.SnapshotInterval = snapshotCheck
	conf.TrailingLogs = cfg.SnapshotEntries
	conf.NoLegacyTelemetry = true
	return conf
}

// found writes the membership into the empty log of a founding server. All founding servers write
// the same first entry.
func (s *Server) found(cfg Config, conf *raft.Config, trans raft.Transport) error {
	exists, err := raft.HasExistingState(s.stores.log, s.stores.stable, s.stores.snapshots)
	switch {
	case err != nil:
		return fmt.Errorf("read raft state: %w", err)
	case exists:
		return nil
	case !cfg.Founds:
		return fmt.Errorf("%w: it may have voted for a leader that it has forgotten: "+
			"give %s its data back, or start all servers anew", ErrForgot, cfg.Dir)
	}
	members := []raft.Server{{ID: conf.LocalID, Address: raft.ServerAddress(cfg.Name)}}
	for _, p := range cfg.Settings.Peers {
		members = append(members, raft.Server{ID: raft.ServerID(p.Name), Address: raft.ServerAddress(p.Name)})
	}
	all := raft.Configuration{Servers: members}
	if err := raft.BootstrapCluster(conf, s.stores.log, s.stores.stable, s.stores.snapshots, trans, all); err != nil {
		return fmt.Errorf("write the membership: %w", err)
	}
	return nil
}

// followLeadership serves clients exactly while this server leads.
func (s *Server) followLeadership(ctx context.Context, leadership <-chan bool) {
	for {
		var leads bool
		select {
		case <-ctx.Done():
			return
		case leads = <-leadership:
		}
		s.hub.stopServing() // also between two consecutive terms of this server
		if !leads {
			s.log.Info("stopped leading")
			continue
		}
		// The barrier is applied after all entries of earlier terms.
		if err := s.raft.Barrier(0).Error(); err != nil {
			s.log.Info("lost the leadership before serving", "error", err)
			continue
		}
		s.hub.serve()
		s.log.Info("leads and serves", "applied", s.raft.AppliedIndex())
	}
}

// leader returns the name of the leader, "" if this server knows none.
func (s *Server) leader() string {
	_, leader := s.raft.LeaderWithID()
	return string(leader)
}

// Failed receives an error when the server must be closed: its disk has failed, or it cannot
// accept clients.
func (s *Server) Failed() <-chan error { return s.failed }

func (s *Server) fail(err error) {
	select {
	case s.failed <- err:
	default: // the first error is enough
	}
}

// ClientAddr returns the address for clients.
func (s *Server) ClientAddr() string { return s.clientLis.Addr().String() }

// RaftAddr returns the address for the other servers.
func (s *Server) RaftAddr() string { return s.raftLis.Addr().String() }

// status returns the server's own view.
func (s *Server) status() *wire.Status {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return &wire.Status{
		State: strings.ToLower(s.raft.State().String()), Leader: s.leader(),
		AppliedIndex: s.raft.AppliedIndex(), Serving: s.hub.serving,
	}
}

// Close stops the server and frees its resources. Sessions live on in the service.
func (s *Server) Close() error {
	var errs []error
	for _, closeOne := range slices.Backward(s.closers) {
		if err := closeOne(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	s.closers = nil
	return errors.Join(errs...)
}

// peers makes raft's connections. A server's raft address is its name, which is the same everywhere.
// Each host maps names to its own addresses, so that every connection goes through the proxy of a link.
type peers struct {
	net.Listener
	name  string
	addrs map[raft.ServerAddress]string
}

// Dial implements [raft.StreamLayer].
func (p *peers) Dial(name raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return (&net.Dialer{Timeout: timeout}).DialContext(context.Background(), "tcp", p.addrs[name])
}

// Addr implements [net.Listener]: it returns the name, which raft sends to the others.
func (p *peers) Addr() net.Addr { return nameAddr(p.name) }

type nameAddr string

func (nameAddr) Network() string  { return "raft" }
func (a nameAddr) String() string { return string(a) }

// newRaftLogger passes the raft library's warnings and errors to slog, as information: most are
// unreachable peers and elections, which are normal in the lab.
func newRaftLogger(log *slog.Logger) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Level: hclog.Warn, DisableTime: true, Output: slog.NewLogLogger(log.Handler(), slog.LevelInfo).Writer(),
	})
}
