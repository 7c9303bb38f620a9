package raftnode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
)

const (
	segmentBytes  = 16 << 20 // of one file of the log, allocated ahead
	keepSnapshots = 2
)

// stores is where a server keeps what must survive it.
type stores struct {
	log       raft.LogStore
	parallel  *parallelLog // the log, unless it is in memory
	stable    raft.StableStore
	snapshots raft.SnapshotStore
	close     func() error
}

func openStores(kind, dir string, log hclog.Logger, fail func(error)) (*stores, error) {
	if kind == StoreMemory {
		mem := raft.NewInmemStore()
		return &stores{
			log: mem, stable: mem, snapshots: raft.NewInmemSnapshotStore(),
			close: func() error { return nil },
		}, nil
	}
	walDir := filepath.Join(dir, "log")
	if err := os.MkdirAll(walDir, 0o700); err != nil {
		return nil, fmt.Errorf("open raft log: %w", err)
	}
	meta := &metadb.BoltMetaDB{}
	w, err := wal.Open(walDir, wal.WithSegmentSize(segmentBytes), wal.WithLogger(log), wal.WithMetaStore(meta))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open raft log %s: %w", walDir, err), meta.Close())
	}
	closeAll := func() error { return errors.Join(w.Close(), meta.Close()) }
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, keepSnapshots, log)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open raft snapshots in %s: %w", dir, err), closeAll())
	}
	parallel, err := newParallelLog(w, fail)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read raft log %s: %w", walDir, err), closeAll())
	}
	return &stores{
		log: parallel, parallel: parallel, stable: w, snapshots: snapshots,
		close: func() error {
			parallel.close()
			return closeAll()
		},
	}, nil
}
