// Package mesh connects the peers of a small cluster by one TCP connection per pair,
// and carries opaque payloads between them.
//
//	rank 0 ──dials──► rank 1        hello ───────►            dialer: lower rank
//	   └────dials──► rank 2              ◄─────── hello       or a refusal with the reason
//	rank 1 ──dials──► rank 2        heartbeat ───►            both: Connected
//
// Guarantees to a [Handler]:
//
//   - For each peer, Connected, any number of Receive and Disconnected come in
//     this order and never overlap. A replaced connection is delivered as
//     Disconnected, then Connected of another [Link].
//   - Payloads sent on one Link arrive in order or not at all, and never on another Link.
//   - A connection is given up after 400 ms of silence, or later if this process runs late.
//     Time in which it could not run does not count as silence of its peers.
//   - A connection is never given up because its peer reads slowly: unread payloads stay
//     in memory until the peer is silent, too.
//
// Peers trust the network: any process that can connect and knows the names can be a peer.
//
// Writes are coalesced: [Link.Send] only queues. All payloads queued while a handler works on
// one read go out in one write before the next read; other callers flush. A flush writes in
// the calling goroutine as much as the socket takes, and usually needs no other goroutine.
package mesh
