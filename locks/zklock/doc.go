// Package zklock is the lock recipe of ZooKeeper, on github.com/go-zookeeper/zk with its defaults.
//
// Algorithm: a claim is an ephemeral sequential node below the resource's node, with a unique name.
// The claim with the lowest number holds; each other claim watches the one before it. With watch=all
// each watches all claims, so every change wakes all waiters (a herd). With watch=late a waiter does
// not check whether the claim before it was already gone: a control, which loses wake-ups. The fencing
// token is the zxid of the last change among the claims (pzxid), read with the list in which the own
// claim is first. The previous holder's claim was still there when it read its token, so tokens grow.
// Source: ZooKeeper Recipes and Solutions, Locks; on the herd: the document of channel.io.
//
// Lost: the library gives up a connection that is silent for two thirds of the session. Lost closes
// a sixth of the session later, unless the library has reconnected. That is before the servers end the
// session, unless only pings are lost and not answers (a one-way cut). There is no Expires: the library
// does not say when it last heard from a server.
//
// Weaknesses: a session can end before its holder notices (a pause), so only the token protects the
// resource. A server that has lost its leader answers pings until it notices. A server that accepts a
// connection and stays silent blocks the library for 20 s with a session of 3 s, and the library's goroutine
// and socket outlive Close by as much. Servers may grant a shorter session (maxSessionTimeout) and end it
// before Lost: the library does not report the granted time. A dead holder blocks the others until its
// session ends, rounded up to the servers' tick. If most servers lose their data, tokens start again.
// Claim numbers of a resource end at 2^31, unless it is once without claims for a minute. With watch=all
// n waiters cost n wake-ups and n lists of n names per release.
//
// Outcomes of the library's errors. Surely not: an answer of a server (NoNode, NodeExists, SessionExpired, ...),
// ErrNoServer, and errors before sending. Unknown: ErrConnectionClosed, ErrClosing, errors of sockets. Then this
// package looks for the claim by its name, after a sync. It finds the claim, or knows that it will never
// appear: servers refuse a session's requests from an earlier connection. A claim that it cannot look up is gone when
// the session ends.
package zklock
