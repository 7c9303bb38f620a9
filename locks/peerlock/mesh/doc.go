// Package mesh connects the peers of a small cluster, each with each, by one TCP
// connection per pair, and carries opaque payloads between them.
//
//	rank 0 ──dials──► rank 1        Hello ───────►            dialer: lower rank
//	   └────dials──► rank 2              ◄─────── Hello       or Refuse, with why
//	rank 1 ──dials──► rank 2        heartbeat ───►            both: Connected
//
// What it guarantees to a [Handler]:
//
//   - For each peer, Connected, any number of Receive and Disconnected come in
//     this order and never overlap. A connection that is replaced is delivered as
//     Disconnected, then Connected of another [Link].
//   - Payloads sent on one Link arrive in order or not at all, and never on another
//     Link: what was meant for a lost connection is not delivered over its successor.
//   - A silent connection is given up, see [Timing]. Time that this process itself
//     could not run does not count as silence of others.
//   - A peer that reads slowly is not disconnected: who wants to say more is told that a
//     queue is full, see [Mesh.Full]. One that reads nothing at all is, see [Limits].
//
// Peers trust the network: any process that can connect and knows the names can be a peer.
//
// A heartbeat is sent where nothing else was for a while. It is one byte, which on
// Linux wakes nobody: the kernel is asked how much has arrived. So an idle peer works
// twice in each [Timing].Heartbeat, however many peers there are.
//
// Writes are coalesced: [Link.Send] only queues. What is queued while a handler
// works on a batch of payloads goes out in one write when it returns; anybody else
// calls [Mesh.Flush]. A flush writes in the calling goroutine for as long as the
// socket takes it and leaves only the rest to a writer of its own, so that on the
// usual path no goroutine is woken up.
package mesh
