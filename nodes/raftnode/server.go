package raftnode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"locklab/internal/seed"
	"locklab/locks/clock"
	"locklab/locks/raftlock/wire"
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
	// Founds says that the service is new, and this is the first process of this server: with
	// an empty Dir it founds the service, together with the others. Never set it again: a
	// server with an empty Dir that does not found has lost its data, and waits until the
	// others have taught it. A new agent and Remove before Start set it again
	// (process.Config.First): never use them for one server of a service that lives.
	Founds bool
	// SnapshotEntries is after how many log entries a snapshot is taken; zero is 16384.
	SnapshotEntries uint64

	Recorder history.Recorder // takes grants; nil records nothing
	Clock    clock.Clock      // which sessions end by; nil is the system's
	Log      *slog.Logger     // nil discards
}

// Server is a running server of the lock service.
type Server struct {
	name      string
	clientLis net.Listener
	raftLis   net.Listener

	hub     *hub
	raft    atomic.Pointer[raft.Raft] // nil while a server without data asks the others
	stores  *stores
	votes   *votes
	trans   *raft.NetworkTransport
	clients *streams
	service *service
	log     *slog.Logger

	stop      chan struct{}
	failed    chan error // of one place
	beginning sync.WaitGroup
	wg        sync.WaitGroup
	closed    sync.Once
	err       error
}

const (
	// heartbeat is how long a follower waits for its leader before it calls an election. A
	// wait is drawn anew each time between this and twice this. A leader steps down when it
	// has not heard from a quorum for five sixths of it.
	heartbeat = 300 * time.Millisecond
	// rpcTimeout bounds one message between servers.
	rpcTimeout = 600 * time.Millisecond
	// snapshotCheck is how often a server looks whether a snapshot is due, and twice that
	// at most.
	snapshotCheck = time.Second
	// entriesInFlight is how many log entries may be on their way at once.
	entriesInFlight = 2
)

// watchEvery is how often a leader looks for sessions whose lease has run out.
const watchEvery = 25 * time.Millisecond

// Start starts a server. It listens when Start returns; it serves once the service
// has elected a leader. The context bounds the start only.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.System()
	}
	if cfg.Name == "" {
		return nil, fmt.Errorf("start raft server: it has no name: %w", ErrInvalid)
	}
	if err := cfg.Settings.validate(cfg.Name); err != nil {
		return nil, fmt.Errorf("start raft server %s: %w", cfg.Name, err)
	}
	if cfg.SnapshotEntries == 0 {
		cfg.SnapshotEntries = 16384
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{name: cfg.Name, log: cfg.Log, stop: make(chan struct{}), failed: make(chan error, 1)}
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
	if s.stores, err = openStores(cfg.Settings.Store, cfg.Dir, logger, s.fail); err != nil {
		return err
	}
	// Entries of an earlier process with the same name must not look like ours.
	origin := uint64(seed.Seed(uint64(clock.System().Now().UnixNano())).Child(cfg.Name))
	s.hub = newHub(cfg.Name, origin, entriesInFlight, cfg.Clock, cfg.Recorder, cfg.Log)

	layer := newStreams(s.raftLis, cfg.Name, cfg.Settings.Peers)
	s.trans = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: layer, Logger: logger, MaxPool: 4, Timeout: rpcTimeout,
	})
	if err := s.found(cfg); err != nil {
		return err
	}
	recovers := s.votes.recovering.Load()
	if !recovers {
		if _, err := s.begin(cfg, logger); err != nil {
			return err
		}
	}
	s.service = &service{hub: s.hub, status: s.status}
	s.clients = newStreams(s.clientLis, cfg.Name, nil)
	s.wg.Go(func() {
		if err := s.service.accept(s.clients); err != nil {
			s.fail(err)
		}
	})
	s.wg.Go(s.watch)
	if recovers {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it outlives the start
		s.wg.Go(func() { <-s.stop; cancel() })
		s.beginning.Go(func() { s.beginLate(ctx, cfg, logger) })
	}
	return nil
}

// beginLate begins when a server that has lost its data may.
func (s *Server) beginLate(ctx context.Context, cfg Config, logger hclog.Logger) {
	term, err := s.forgotten(ctx, cfg.Settings.Peers)
	if ctx.Err() != nil {
		return
	}
	var r *raft.Raft
	if err == nil {
		r, err = s.begin(cfg, logger)
	}
	if err != nil {
		s.fail(fmt.Errorf("raftnode: begin after the data was lost: %w", err))
		return
	}
	s.wg.Go(func() { s.catchUp(ctx, r, term) })
}

// begin lets the raft library work.
func (s *Server) begin(cfg Config, logger hclog.Logger) (*raft.Raft, error) {
	leadership := make(chan bool, 64)
	conf := raftConfig(cfg)
	conf.Logger, conf.NotifyCh = logger, leadership
	r, err := newRaft(conf, &machine{hub: s.hub, fail: s.fail}, s.stores.log, s.votes, s.stores.snapshots, s.trans)
	if err != nil {
		return nil, fmt.Errorf("start raft: %w", err)
	}
	s.raft.Store(r)
	s.hub.setPropose(func(entry []byte) { r.Apply(entry, 0) })
	s.wg.Go(func() { s.followLeadership(r, leadership) })
	return r, nil
}

// newRaft is raft.NewRaft, which panics when it cannot read its log.
func newRaft(conf *raft.Config, fsm raft.FSM, log raft.LogStore, stable raft.StableStore, snapshots raft.SnapshotStore, trans raft.Transport) (_ *raft.Raft, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the log cannot be read: %v: if every other server runs and has its data, "+
				"remove this server's directory; it starts empty, asks each of them twice, and catches up", p)
		}
	}()
	return raft.NewRaft(conf, fsm, log, stable, snapshots, trans)
}

func raftConfig(cfg Config) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(cfg.Name)
	conf.HeartbeatTimeout, conf.ElectionTimeout = heartbeat, heartbeat
	conf.LeaderLeaseTimeout = heartbeat * 5 / 6
	conf.CommitTimeout = 50 * time.Millisecond
	conf.MaxAppendEntries = 64
	// Proposals are bounded by the hub, so the buffer never fills and proposing
	// never blocks the state machine.
	conf.BatchApplyCh = true
	conf.SnapshotThreshold = cfg.SnapshotEntries
	conf.SnapshotInterval = snapshotCheck
	conf.TrailingLogs = cfg.SnapshotEntries
	conf.NoLegacyTelemetry = true
	return conf
}

// found writes the membership into the empty log of a server that founds the service. All do
// so with the same membership, which makes the first entry the same everywhere. A server
// without data that founds nothing recovers.
func (s *Server) found(cfg Config) error {
	s.votes = openVotes(s.stores.stable)
	exists, err := raft.HasExistingState(s.stores.log, s.stores.stable, s.stores.snapshots)
	if err != nil {
		return fmt.Errorf("read raft state: %w", err)
	}
	if exists {
		return nil
	}
	if !cfg.Founds {
		return s.votes.mark(true)
	}
	conf := raftConfig(cfg)
	members := []raft.Server{{ID: conf.LocalID, Address: raft.ServerAddress(s.name)}}
	for _, p := range cfg.Settings.Peers {
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
func (s *Server) followLeadership(r *raft.Raft, leadership <-chan bool) {
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
		if err := r.Barrier(0).Error(); err != nil {
			s.log.Info("lost the leadership before serving", "error", err)
			continue
		}
		s.hub.led.Add(1)
		s.hub.serve()
		s.log.Info("leads and serves", "applied", r.AppliedIndex())
	}
}

// watch lets the hub expire sessions, and keeps the leader hint fresh.
func (s *Server) watch() {
	timer := clock.System().NewTimer(watchEvery)
	defer timer.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-timer.C():
			s.hub.tick(s.leader())
			timer.Reset(watchEvery)
		}
	}
}

// leader names the leader, "" if this server knows of none.
func (s *Server) leader() string {
	r := s.raft.Load()
	if r == nil {
		return ""
	}
	_, leader := r.LeaderWithID()
	return string(leader)
}

func (h *hub) tick(leader string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.serving && leader != h.name {
		h.leader = leader
	}
	h.watch()
}

// Failed gives the reason when the server cannot go on and must be closed: its disk has
// failed, or its log has what it cannot read.
func (s *Server) Failed() <-chan error { return s.failed }

func (s *Server) fail(err error) {
	select {
	case s.failed <- err:
	default: // the first one says it
	}
}

// ClientAddr is the address that clients reach the server at.
func (s *Server) ClientAddr() string { return s.clientLis.Addr().String() }

// RaftAddr is the address that the other servers reach the server at.
func (s *Server) RaftAddr() string { return s.raftLis.Addr().String() }

// status is what the server believes.
func (s *Server) status() *wire.Status {
	status := &wire.Status{State: "recovering", Leader: s.leader()}
	r := s.raft.Load()
	if r == nil {
		return status
	}
	if !s.votes.recovering.Load() {
		status.State = strings.ToLower(r.State().String())
	}
	status.Term, _ = strconv.ParseUint(r.Stats()["term"], 10, 64) // always a number
	status.LastIndex, status.CommitIndex, status.AppliedIndex = r.LastIndex(), r.CommitIndex(), r.AppliedIndex()
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	status.Serving = s.hub.serving
	return status
}

// Close stops the server and frees everything. Its sessions live on in the service.
func (s *Server) Close() error {
	s.closed.Do(func() { s.err = s.close() })
	return s.err
}

func (s *Server) close() error {
	close(s.stop)
	var errs []error
	s.beginning.Wait()
	if r := s.raft.Load(); r != nil {
		errs = append(errs, r.Shutdown().Error())
	}
	if s.clients != nil {
		_ = s.clients.Close() // once more below
	}
	s.wg.Wait()
	if s.service != nil {
		s.service.running.Wait()
	}
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
