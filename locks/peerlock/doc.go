// Package peerlock runs a pure peer-to-peer lock algorithm over a mesh of TCP
// connections, for as many resources as are wanted at the moment. It is the part
// that such locks have in common; what makes them different is a core, see
// [peercore.Machine], and its messages on the wire, see [Protocol].
//
//	Acquire ─► claim ─► queue of the resource ─► core ─► messages ─► mesh
//	                    (order of arrival)       ▲  │
//	                                   Wake, Receive └─► Hold: the first claim is served
//
// Resources are spread over shards with a lock each. A message is handled in the
// goroutine that reads the connection; nothing waits and no goroutine is started
// for a resource. What nobody wants any more is forgotten, save for one number per
// shard that keeps rounds and timestamps growing, see [peercore.Machine], and, if the
// algorithm has leases, the tokens of the names that were forgotten last.
//
// Of the names that nobody wants any more the 4096 that were used last are kept a while, and
// told of each connection that comes or goes. Where the algorithm has something to say of them
// then, as multiphase:quorum has (a vote may have been given for what is over), a connection
// begins with a message for each: of names of 30 bytes some 150 kB each way, and with the ones
// that come some 40 ms of CPU time for two peers together (BenchmarkReconnection in
// locks/multiphase).
package peerlock
