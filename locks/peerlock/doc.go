// Package peerlock runs a pure peer-to-peer lock algorithm over a mesh of TCP connections,
// for any number of resources. It is the common part of such locks; each lock adds a core,
// see [peercore.Machine], and its messages on the wire, see [Protocol].
//
//	Acquire ─► claim ─► queue of the resource ─► core ─► messages ─► mesh
//	                    (order of arrival)       ▲  │
//	                                   Wake, Receive └─► Hold: the first claim is served
//
// The resources of a peer are spread over 16 shards with a mutex each. The goroutine that reads a connection
// handles its messages; resources have no goroutines of their own.
//
// The last 256 unwanted resources of each shard stay in memory, because names are often used again; they see each
// connection that comes or goes. For all older ones a shard keeps only one number, the highest round or
// timestamp, so that these keep growing (see [peercore.Machine]).
package peerlock
