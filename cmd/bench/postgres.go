package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/pglock"
	"locklab/nodes/postgresnode"
	nodeprocess "locklab/nodes/process"
)

// postgresWorkers is as many as each side has connections.
const postgresWorkers = 16

// postgresRows compare two of the locks on PostgreSQL with the statements that such a lock
// cannot do without, by pgx from a pool of the same size, on one server with fsync.
func postgresRows() []row {
	const key = ", a key each, 16 goroutines"
	return []row{
		{
			name: "postgres:lease acquire+release / its bare statements by pgx" + key, reach: 0.85, unit: "ops/s",
			start: againstStatements("postgres:lease",
				"UPDATE bench_locks SET owner = 'bench', fence = fence + 1, expires = now() + interval '3 s' WHERE resource = $1 AND expires < now() RETURNING fence",
				"UPDATE bench_locks SET expires = '-infinity', owner = NULL WHERE resource = $1 RETURNING fence"),
		},
		{
			name: "postgres:advisory acquire+release / its bare statements by pgx" + key + "; with a token", reach: 0.85, unit: "ops/s",
			start: againstStatements("postgres:advisory",
				"WITH locked AS MATERIALIZED (SELECT pg_advisory_lock(hashtextextended($1, 1))) SELECT nextval('bench_fence') FROM locked",
				"SELECT pg_advisory_unlock(hashtextextended($1, 1))::int::bigint"),
		},
	}
}

// againstStatements has the lock run against two statements that return a number.
func againstStatements(lock, take, give string) starter {
	return func(ctx context.Context, stops *stopList) (subject, peer measurement, err error) {
		url, err := startPostgres(ctx, stops)
		if err != nil {
			return nil, nil, err
		}
		spec, err := locks.ParseSpec(fmt.Sprintf("%s,conns=%d", lock, postgresWorkers))
		if err != nil {
			return nil, nil, err
		}
		options, err := pglock.ParseOptions(spec)
		if err != nil {
			return nil, nil, err
		}
		locker, err := pglock.New(pglock.Config{URL: url, Options: options}) //nolint:contextcheck // a client lives until Close
		if err != nil {
			return nil, nil, err
		}
		stops.close(locker)
		pool, err := bareStatements(ctx, url, stops)
		return rate(postgresWorkers, func(ctx context.Context, w int) error { return pair(ctx, locker, fmt.Sprintf("bench-%d", w)) }),
			rate(postgresWorkers, func(ctx context.Context, w int) error {
				// Both on one connection, which an advisory lock belongs to.
				conn, err := pool.Acquire(ctx)
				if err != nil {
					return err
				}
				defer conn.Release()
				for _, sql := range []string{take, give} {
					var n int64
					if err := conn.QueryRow(ctx, sql, fmt.Sprintf("bench-%d", w)).Scan(&n); err != nil {
						return fmt.Errorf("%s: %w", sql, err)
					}
				}
				return nil
			}), err
	}
}

// bareStatements is a pool on a table of the locks' form with a row for each worker.
func bareStatements(ctx context.Context, url string, stops *stopList) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = postgresWorkers
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	stops.add(pool.Close)
	_, err = pool.Exec(ctx, fmt.Sprintf(`CREATE SEQUENCE bench_fence;
CREATE TABLE bench_locks (resource text PRIMARY KEY, owner text, fence bigint NOT NULL DEFAULT 0, expires timestamptz NOT NULL DEFAULT '-infinity') WITH (fillfactor = 50);
INSERT INTO bench_locks (resource) SELECT 'bench-' || n FROM generate_series(0, %d) AS n`, postgresWorkers-1))
	return pool, err
}

// startPostgres starts a server as the lab does, and returns what its clients dial.
func startPostgres(ctx context.Context, stops *stopList) (string, error) {
	role := postgresnode.Role()
	if err := role.Missing(); err != nil {
		return "", err
	}
	dir, err := tempDir(stops)
	if err != nil {
		return "", err
	}
	addrs, err := freePorts(ctx, 1)
	if err != nil {
		return "", err
	}
	rec := nodeprocess.NewRecorder(io.Discard, "bench", postgresnode.Name)
	node := &nodeprocess.Node{
		Config:   nodeprocess.Config{Name: postgresnode.Name, Dir: dir, Addrs: map[string]string{postgresnode.Port: addrs[0]}},
		Recorder: rec, Log: slog.New(slog.DiscardHandler),
	}
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = role.Main(running, node) // it ends as asked, and what fails is seen by its client
	}()
	stops.add(func() {
		end()
		<-ended         // as asked
		_ = rec.Close() // it writes nowhere
	})
	url := postgresnode.URL(addrs[0])
	return url, await(ctx, "postgres", func(ctx context.Context) error {
		pool, err := pgxpool.New(ctx, url)
		if err != nil {
			return err
		}
		defer pool.Close()
		err = pool.Ping(ctx)
		if err != nil {
			_ = clock.Sleep(ctx, 50*time.Millisecond) // the server tells its log of every try
		}
		return err
	})
}
