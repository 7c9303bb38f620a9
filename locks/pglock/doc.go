// Package pglock is three locks on one PostgreSQL server.
//
// Algorithm: postgres locks the resource's row with SELECT ... FOR UPDATE in a transaction that
// stays open for as long as the lock is held; advisory asks for pg_advisory_lock of the name's
// hash in a session; lease takes the row with one UPDATE ... WHERE expires < now(), and holds
// no connection. Tokens are a sequence's next value once the lock is held (rollbacks do not take
// it back), or the row's own counter (lease).
// Source: the PostgreSQL manual, "Explicit Locking"; of the row lock also
// https://channel.io/ko/blog/distributedlock_2022_backend.
//
// Weaknesses: one server, so with its zone all is gone, and with its data the tokens begin anew.
// Without a lease every waiter and every holder keeps a connection, and a holder that is paused or
// cut off without a reset blocks all others until it is back or TCP gives up. A session that the
// server ended is noticed within a quarter of Options.Timeout; over a link that carries nothing,
// within three times Options.Timeout. advisory: two names may share a hash. lease: waiters poll, and
// a holder may outlive its lease: only the token protects the resource. A lease whose answer was
// lost blocks the others until it is over.
//
// Assumptions: the server keeps what it says is on disk (fsync=on). Clients that exclude each other dial the
// same database; their users have rights on its tables public.locklab_locks and public.locklab_fence, which
// the first client makes. No pooler is in between.
//
// Outcomes of pgx's errors. Surely not: an error of the server (pgconn.PgError), which ends the
// transaction (advisory: once the session has confirmed that it holds nothing), what
// pgconn.SafeToRetry says, and every error of what only leads to asking: a connection, preparing
// the statement, making the row or the tables.
// Unknown: every other error, because the session, or the UPDATE, may live on at the server.
//
// A statement that ended without an answer costs its connection, which counts as one of
// Options.Conns for up to three times Options.Timeout more: the server is asked to forget it.
package pglock
