// Package zklock is a lock on ZooKeeper, on github.com/go-zookeeper/zk.
//
// Algorithm: a claim is an ephemeral sequential node below the resource's; the one with the
// lowest number holds, and each other one watches the one before it. The list of claims is
// asked for right behind the claim, without waiting for its answer: a round trip less. With
// watch=all each watches all of them, and every change wakes everybody: the herd. The fencing
// token is the zxid of the last change among the claims (pzxid), read with the list in which the
// own claim is the first: the holder before was still there when it read its own, so it grows.
// Source: ZooKeeper Recipes and Solutions, Locks; the herd: the document of channel.io.
//
// Weaknesses: a session can end while its holder believes in it (a pause): only the token
// protects the resource. What a dead holder held is blocked until its session ends, rounded
// up to the servers' tick. A server answers pings also when it has lost its leader, so the
// library's prove nothing; here a session is renewed by a write, which needs a quorum, and
// counts from the moment of asking, less a fifth: ticks must be shorter than that; and never
// for longer than from the renewal before, less a twentieth, as a server may die before it tells the leader of
// the last one. If most servers lose their data, tokens begin again. Claims are
// numbered up to 2^31 for each resource that is never without one for a minute. With
// watch=all a release of n waiters costs n wake-ups and n lists of n names.
//
// Outcomes of the library's errors. Surely not: what a server answered (NoNode, NodeExists,
// NoAuth, SessionExpired, SessionMoved, ...), ErrNoServer and what the library refuses before
// it sends. Unknown: ErrConnectionClosed, ErrClosing, errors of sockets, codes that the
// library does not know; then the claim is looked for, by its name, after a sync, which finds
// it or shows that it never comes: a session's requests of an earlier connection are refused.
// What was not found out is gone when the session ends.
package zklock
