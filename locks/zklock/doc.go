// Package zklock is the lock of ZooKeeper's own page, on github.com/go-zookeeper/zk with its defaults.
//
// Algorithm: a claim is an ephemeral sequential node below the resource's, with a name that only
// it has. The claim with the lowest number holds; each other one watches the one before it. With
// watch=all each watches all of them, and every change wakes everybody: the herd. With watch=late a
// waiter does not look whether it came too late to watch: a control, which loses wake-ups. The fencing
// token is the zxid of the last change among the claims (pzxid), read with the list in which the own claim is the
// first. The holder before was still there when it read its own, so tokens grow.
// Source: ZooKeeper Recipes and Solutions, Locks; the herd: the document of channel.io.
//
// Lost: the library gives up a connection that is silent for two thirds of the session. When it
// ends, the holder believes in the session for a sixth more, unless the library has it again by
// then: so Lost comes before the servers end it, unless pings are lost and answers are not (a
// one-way cut). There is no Expires: the library does not say when it last heard of them.
//
// Weaknesses: a session can end while its holder believes in it (a pause): only the token protects
// the resource. A server that has lost its leader answers pings until it notices. A server that
// accepts a connection and says nothing keeps the library waiting for 20 s with a session of 3 s,
// and its goroutine and socket outlive Close by so much. Servers that grant a shorter session than
// was asked for (maxSessionTimeout) end it before Lost: the library does not say what they grant.
// What a dead holder held is blocked until its session ends, rounded up to the servers' tick. If
// most servers lose their data, tokens begin again. Claims are numbered up to 2^31 for each
// resource that is never without one for a minute. With watch=all a release of n waiters costs n
// wake-ups and n lists of n names.
//
// Outcomes of the library's errors. Surely not: what a server answered (NoNode, NodeExists,
// SessionExpired, ...), ErrNoServer and what the library refuses before it sends. Unknown: ErrConnectionClosed,
// ErrClosing, errors of sockets; then the claim is looked for, by its name, after a sync, which
// finds it or shows that it never comes: a session's requests of an earlier connection are refused.
// What was not found out is gone when the session ends.
package zklock
