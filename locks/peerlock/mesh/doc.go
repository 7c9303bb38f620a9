// Package mesh connects the peers of a small cluster, each with each, by one TCP
// connection per pair, and carries opaque payloads between them.
//
//	rank 0 ──dials──► rank 1        hello ───────►            dialer: lower rank
//	   └────dials──► rank 2              ◄─────── hello       or a refusal, with why
//	rank 1 ──dials──► rank 2        heartbeat ───►            both: Connected
//
// What it guarantees to a [Handler]:
//
//   - For each peer, Connected, any number of Receive and Disconnected come in
//     this order and never overlap. A connection that is replaced is delivered as
//     Disconnected, then Connected of another [Link].
//   - Payloads sent on one Link arrive in order or not at all, and never on another
//     Link: what was meant for a lost connection is not delivered over its successor.
//   - A connection that is silent for 400 ms is given up, later while this process itself gets
//     to run late. Time in which it could not run does not count as silence of others.
//   - A connection is never given up because its peer reads slowly: what it has not
//     read stays in memory until the peer is silent, too.
//
// Peers trust the network: any process that can connect and knows the names can be a peer.
//
// Writes are coalesced: [Link.Send] only queues. What is queued while a handler works on
// payloads that arrived together goes out in one write before the next read; all other
// callers flush. A flush writes in the calling goroutine for as long as the socket takes it
// and leaves only the rest to a goroutine of its own, so that the usual path wakes none.
package mesh
