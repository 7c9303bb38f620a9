// Package pglock is three locks on one PostgreSQL server.
//
// Algorithm: postgres locks the resource's row with SELECT ... FOR UPDATE in a transaction that
// stays open while the lock is held; advisory takes pg_advisory_lock of the name's hash in a session;
// lease takes the row with one UPDATE ... WHERE expires < now(), and keeps no connection. A token is
// the next value of a sequence, drawn once the lock is held (a rollback does not undo it); for lease
// it is the row's own counter.
// Source: the PostgreSQL manual, "Explicit Locking"; for the row lock also
// https://channel.io/ko/blog/distributedlock_2022_backend.
//
// Weaknesses: there is one server. The loss of its zone stops everything, and the loss of its data
// restarts the tokens. Without leases every waiter and holder keeps a connection, and a holder that is
// paused, or cut off without a reset, blocks all others until it is back or TCP gives up. A holder
// notices the end of its session within a quarter of Options.Timeout, or within three times
// Options.Timeout if the link is silent. advisory: two names may share a hash. lease: waiters poll, and a
// holder may act after its lease, so only the token protects the resource. A lease whose answer was
// lost blocks the others until it expires.
//
// Assumptions: the server keeps what it confirms (fsync=on). All clients dial the same database;
// their users have rights on its tables public.locklab_locks and public.locklab_fence, which
// the first client makes. There is no connection pooler in between.
//
// Outcomes of pgx's errors. Surely not acquired: an error of the server (pgconn.PgError), which ends
// the transaction (advisory: only after the session has confirmed that it holds nothing); an error
// for which pgconn.SafeToRetry is true; an error before the lock statement, as in connecting,
// preparing, or making the row or the tables.
// Unknown: every other error, because the session or the UPDATE may survive at the server.
//
// A statement without an answer closes its connection, which still counts as one of Options.Conns
// for up to three times Options.Timeout, while pgx asks the server to cancel it.
package pglock
