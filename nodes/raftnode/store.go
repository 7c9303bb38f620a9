package raftnode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

const (
	segmentBytes  = 16 << 20 // of one file of the log, allocated ahead
	keepSnapshots = 2
	cachedEntries = 1024 // kept in memory, so that sending to followers does not read the disk
)

// stores is a server's durable state: the log and votes, with fsync, and snapshots.
type stores struct {
	log       raft.LogStore
	stable    raft.StableStore
	snapshots raft.SnapshotStore
	disk      *disk
	close     func() error
}

// disk is the file system of the log. With noSync it does not sync.
type disk struct {
	*fs.FS
	noSync atomic.Bool
}

// Create implements types.VFS.
func (d *disk) Create(dir, name string, size uint64) (types.WritableFile, error) {
	f, err := d.FS.Create(dir, name, size)
	return segmentFile{f, d}, err
}

// OpenWriter implements types.VFS.
func (d *disk) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := d.FS.OpenWriter(dir, name)
	return segmentFile{f, d}, err
}

type segmentFile struct {
	types.WritableFile
	on *disk
}

// Sync implements types.WritableFile.
func (f segmentFile) Sync() error {
	if f.on.noSync.Load() {
		return nil
	}
	return f.WritableFile.Sync()
}

func openStores(dir string, log hclog.Logger, fail func(error)) (*stores, error) {
	walDir := filepath.Join(dir, "log")
	if err := os.MkdirAll(walDir, 0o700); err != nil {
		return nil, fmt.Errorf("open raft log: %w", err)
	}
	meta := &metadb.BoltMetaDB{}
	on := &disk{FS: fs.New()}
	w, err := wal.Open(walDir, wal.WithSegmentSize(segmentBytes), wal.WithLogger(log), wal.WithMetaStore(meta),
		wal.WithSegmentFiler(segment.NewFiler(walDir, on)))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open raft log %s: %w", walDir, err), meta.Close())
	}
	closeAll := func() error { return errors.Join(w.Close(), meta.Close()) }
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, keepSnapshots, log)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open raft snapshots in %s: %w", dir, err), closeAll())
	}
	cached, err := raft.NewLogCache(cachedEntries, &diskLog{LogStore: w, fail: fail})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cache the raft log: %w", err), closeAll())
	}
	return &stores{log: cached, stable: w, snapshots: snapshots, disk: on, close: closeAll}, nil
}

// diskLog ends the server when its disk fails. Otherwise the leader would retry a follower that cannot
// write only after growing pauses of up to 10 s, and nothing is known about the extent of a failed
// write. One goroutine of raft writes.
type diskLog struct {
	raft.LogStore
	fail   func(error)
	failed error // after it, nothing is written
}

var _ raft.MonotonicLogStore = (*diskLog)(nil)

// StoreLogs implements raft.LogStore.
func (d *diskLog) StoreLogs(logs []*raft.Log) error {
	if d.failed == nil {
		if d.failed = d.LogStore.StoreLogs(logs); d.failed != nil {
			d.fail(fmt.Errorf("raftnode: the log cannot be written: %w", d.failed))
		}
	}
	return d.failed
}

// StoreLog implements raft.LogStore.
func (d *diskLog) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }

// IsMonotonic implements raft.MonotonicLogStore: the log has no gaps.
func (d *diskLog) IsMonotonic() bool { return true }
