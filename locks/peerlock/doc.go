// Package peerlock runs a pure peer-to-peer lock algorithm over a mesh of TCP
// connections, for as many resources as are wanted at the moment. It is the part
// that such locks have in common; what makes them different is a core, see
// [peercore.Machine], and its messages on the wire, see [Protocol].
//
//	Acquire ─► claim ─► queue of the resource ─► core ─► messages ─► mesh
//	                    (order of arrival)       ▲  │
//	                                   Wake, Receive └─► Hold: the first claim is served
//
// One mutex guards all resources of a peer. A message is handled in the goroutine that reads
// the connection; nothing waits and no goroutine is started for a resource.
//
// The 4096 names that were used last stay a while, because a name that was used is often used
// again; they are told of each connection that comes or goes. Of older names one number is
// left, which keeps rounds and timestamps growing, see [peercore.Machine].
package peerlock
