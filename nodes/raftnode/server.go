package raftnode

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"locklab/locks/clock"
	"locklab/locks/peertls"
	pb "locklab/locks/raftlock/raftlockpb"
	"locklab/locks/seed"
	"locklab/workloads/history"
)

// Config is what one server needs.
type Config struct {
	// Name is the server's name in the service, and the leader hint that clients get.
	Name string
	// Dir is the data directory; it must exist. Unused with store=memory.
	Dir string
	// ClientAddr and RaftAddr are the addresses (host:port) to listen on.
	ClientAddr, RaftAddr string
	Settings             Settings
	// TLS, if not nil, is used towards clients and between the servers, where both ends
	// show a certificate that RootCAs has signed and that names the server as Name does.
	// What clients must show is for ClientAuth to say. Certificates can be reloaded by
	// GetCertificate and GetClientCertificate, not by GetConfigForClient.
	TLS *tls.Config

	Clock    clock.Clock      // nil is the system's
	Recorder history.Recorder // takes grants; nil records nothing
	Log      *slog.Logger     // nil discards
}

// Server is a running server of the lock service.
type Server struct {
	name      string
	store     string
	clientLis net.Listener
	raftLis   net.Listener

	hub      *hub
	raft     *raft.Raft
	stores   *stores
	recovery *recovery
	trans    *raft.NetworkTransport
	grpc     *grpc.Server
	service  *service
	log      *slog.Logger

	stop   chan struct{}
	wg     sync.WaitGroup
	closed sync.Once
	err    error
}

// watchEvery is how often a leader looks for sessions whose lease has run out.
const watchEvery = 25 * time.Millisecond

// Start starts a server. It listens when Start returns; it serves once the service
// has elected a leader. The context bounds the start only.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg.Settings = cfg.Settings.withDefaults()
	if cfg.Name == "" {
		return nil, fmt.Errorf("start raft server: it has no name: %w", ErrInvalid)
	}
	if err := cfg.Settings.validate(cfg.Name); err != nil {
		return nil, fmt.Errorf("start raft server %s: %w", cfg.Name, err)
	}
	if cfg.TLS != nil {
		if err := peertls.Check(cfg.TLS); err != nil {
			return nil, fmt.Errorf("start raft server %s: %w: %w", cfg.Name, err, ErrInvalid)
		}
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{name: cfg.Name, store: cfg.Settings.Store, log: cfg.Log, stop: make(chan struct{})}
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
	if s.raftLis, err = listen.Listen(ctx, "tcp", cfg.RaftAddr); err != nil {
		return err
	}
	logger := newRaftLogger(cfg.Log)
	if s.stores, err = openStores(cfg.Settings.Store, cfg.Dir, logger); err != nil {
		return err
	}
	// Entries of an earlier process with the same name must not look like ours.
	origin := uint64(seed.Seed(uint64(cfg.Clock.Now().UnixNano())).Child(cfg.Name))
	s.hub = newHub(cfg.Name, origin, cfg.Settings.InFlight, cfg.Clock, cfg.Recorder, cfg.Log)

	layer := newStreams(s.raftLis, cfg.Name, cfg.Settings.Peers, cfg.TLS)
	s.trans = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: layer, Logger: logger, MaxPool: 4, Timeout: ms(cfg.Settings.RPCTimeoutMS),
	})
	leadership := make(chan bool, 64)
	conf := raftConfig(cfg)
	conf.Logger, conf.NotifyCh = logger, leadership
	if err := s.bootstrap(conf, cfg.Settings.Peers); err != nil {
		return err
	}
	log := guardedLog{s.stores.log, s.recovery}
	var trans transport = s.trans
	if s.stores.parallel != nil {
		trans = &durableTransport{s.trans, s.stores.parallel}
	}
	if s.recovery.isActive() {
		abstains := &abstention{transport: trans, recovery: s.recovery, rpcs: make(chan raft.RPC)}
		s.wg.Go(func() { abstains.filter(s.stop) })
		trans = abstains
	}
	if s.raft, err = newRaft(conf, machine{s.hub, s.stores.parallel}, log, s.recovery, s.stores.snapshots, trans); err != nil {
		return fmt.Errorf("start raft: %w", err)
	}
	if s.stores.parallel != nil {
		s.stores.parallel.setLeading(func() bool { return s.raft.State() == raft.Leader })
	}
	s.hub.setPropose(func(entry []byte) { s.raft.Apply(entry, 0) })

	s.service = &service{hub: s.hub, status: s.status}
	s.grpc = grpc.NewServer(serverOptions(cfg.TLS)...)
	pb.RegisterLockServiceServer(s.grpc, s.service)
	s.wg.Go(func() { _ = s.grpc.Serve(s.clientLis) }) // ends with Stop
	s.wg.Go(func() { s.followLeadership(leadership) })
	s.wg.Go(func() { s.watch(cfg.Clock) })
	if s.recovery.isActive() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it outlives the start
		s.wg.Go(func() { <-s.stop; cancel() })
		s.wg.Go(func() { s.catchUp(ctx, cfg.Clock, cfg.Settings.Peers) })
	}
	return nil
}

func serverOptions(security *tls.Config) []grpc.ServerOption {
	options := []grpc.ServerOption{grpc.WaitForHandlers(true)}
	if security != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(security)))
	}
	return options
}

// newRaft is raft.NewRaft, which panics when it cannot read its log. There is one known way
// there: after a restart, release 0.4.0 of raft-wal does not read the entries before the
// place at which a log was cut (github.com/hashicorp/raft-wal/issues/31).
func newRaft(conf *raft.Config, fsm raft.FSM, log raft.LogStore, stable raft.StableStore, snapshots raft.SnapshotStore, trans raft.Transport) (_ *raft.Raft, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the log cannot be read: %v: if a majority of the other servers is well, "+
				"remove this server's directory; it then starts empty and catches up", p)
		}
	}()
	return raft.NewRaft(conf, fsm, log, stable, snapshots, trans)
}

func raftConfig(cfg Config) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(cfg.Name)
	conf.HeartbeatTimeout = ms(cfg.Settings.HeartbeatMS)
	conf.ElectionTimeout = conf.HeartbeatTimeout
	conf.LeaderLeaseTimeout = conf.HeartbeatTimeout * 5 / 6
	conf.CommitTimeout = min(50*time.Millisecond, conf.HeartbeatTimeout/4)
	conf.MaxAppendEntries = 64
	// Proposals are bounded by the hub, so the buffer never fills and proposing
	// never blocks the state machine.
	conf.BatchApplyCh = true
	conf.SnapshotThreshold = uint64(cfg.Settings.SnapshotEntries)
	conf.SnapshotInterval = ms(cfg.Settings.SnapshotCheckMS)
	conf.TrailingLogs = uint64(cfg.Settings.SnapshotEntries)
	conf.NoLegacyTelemetry = true
	return conf
}

// bootstrap writes the membership into an empty log. All servers do so with the
// same membership, which makes the first entry the same everywhere.
func (s *Server) bootstrap(conf *raft.Config, peers []Peer) error {
	exists, err := raft.HasExistingState(s.stores.log, s.stores.stable, s.stores.snapshots)
	if err != nil {
		return fmt.Errorf("read raft state: %w", err)
	}
	if s.recovery, err = newRecovery(s.stores.stable, !exists && len(peers) > 0); err != nil || exists {
		return err
	}
	members := []raft.Server{{ID: conf.LocalID, Address: raft.ServerAddress(s.name)}}
	for _, p := range peers {
		members = append(members, raft.Server{ID: raft.ServerID(p.Name), Address: raft.ServerAddress(p.Name)})
	}
	err = raft.BootstrapCluster(conf, s.stores.log, s.stores.stable, s.stores.snapshots, s.trans, raft.Configuration{Servers: members})
	if err != nil {
		return fmt.Errorf("write the membership: %w", err)
	}
	return nil
}

func (h *hub) setPropose(propose func([]byte)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.propose = propose
}

// followLeadership serves clients exactly while this server leads.
func (s *Server) followLeadership(leadership <-chan bool) {
	for {
		var leads bool
		select {
		case <-s.stop:
			s.hub.stopServing()
			return
		case leads = <-leadership:
		}
		s.hub.stopServing() // also between two terms of one server
		if !leads {
			s.log.Info("stopped leading")
			continue
		}
		// Everything of the terms before is applied once the barrier is.
		if err := s.raft.Barrier(0).Error(); err != nil {
			s.log.Info("lost the leadership before serving", "error", err)
			continue
		}
		s.hub.serve()
		s.log.Info("leads and serves", "applied", s.raft.AppliedIndex())
	}
}

// watch lets the hub expire sessions, and keeps the leader hint fresh.
func (s *Server) watch(clk clock.Clock) {
	timer := clk.NewTimer(watchEvery)
	defer timer.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-timer.C():
			_, leader := s.raft.LeaderWithID()
			s.hub.tick(string(leader))
			timer.Reset(watchEvery)
		}
	}
}

func (h *hub) tick(leader string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.serving && leader != h.name {
		h.leader = leader
	}
	h.watch()
}

// Failed is closed when the server cannot go on, because its disk has failed.
func (s *Server) Failed() <-chan struct{} {
	if s.stores.parallel == nil {
		return nil
	}
	return s.stores.parallel.broken
}

// ClientAddr is the address that clients reach the server at.
func (s *Server) ClientAddr() string { return s.clientLis.Addr().String() }

// RaftAddr is the address that the other servers reach the server at.
func (s *Server) RaftAddr() string { return s.raftLis.Addr().String() }

// Snapshots is how many snapshots the server keeps.
func (s *Server) Snapshots() int {
	kept, err := s.stores.snapshots.List()
	if err != nil {
		s.log.Warn("cannot list snapshots", "error", err)
	}
	return len(kept)
}

// status is what the server believes.
func (s *Server) status() *pb.StatusResponse {
	_, leader := s.raft.LeaderWithID()
	term, _ := strconv.ParseUint(s.raft.Stats()["term"], 10, 64) // always a number
	s.hub.mu.Lock()
	serving := s.hub.serving
	s.hub.mu.Unlock()
	return &pb.StatusResponse{
		Name: s.name, State: stateWord(s.raft.State()), Leader: string(leader), Term: term,
		LastIndex: s.raft.LastIndex(), CommitIndex: s.raft.CommitIndex(), AppliedIndex: s.raft.AppliedIndex(),
		Serving: serving, Store: s.store,
	}
}

func stateWord(state raft.RaftState) string {
	switch state {
	case raft.Follower:
		return "follower"
	case raft.Candidate:
		return "candidate"
	case raft.Leader:
		return "leader"
	case raft.Shutdown:
		return "shutdown"
	default:
		return "unknown"
	}
}

// Close stops the server and frees everything. Its sessions live on in the service.
func (s *Server) Close() error {
	s.closed.Do(func() { s.err = s.close() })
	return s.err
}

func (s *Server) close() error {
	close(s.stop)
	var errs []error
	if s.stores != nil && s.stores.parallel != nil {
		s.stores.parallel.abandonWaits()
	}
	if s.raft != nil {
		errs = append(errs, s.raft.Shutdown().Error())
	}
	if s.grpc != nil {
		s.grpc.Stop()
		s.service.receivers.Wait()
	}
	s.wg.Wait()
	if s.trans != nil {
		errs = append(errs, s.trans.Close())
		s.trans.CloseStreams()
	}
	for _, lis := range []net.Listener{s.clientLis, s.raftLis} {
		if lis != nil {
			if err := lis.Close(); !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	if s.stores != nil {
		errs = append(errs, s.stores.close())
	}
	return errors.Join(errs...)
}
