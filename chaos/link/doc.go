// Package link carries the data connections between hosts and breaks them.
//
// A [Host] has all outbound links of one host. A link carries the traffic from this host to one port of one node:
// a program dials the link's address on its own host, and the link dials the node.
//
//	 host a                                              host b
//	+---------------------------------------------+     +------------+
//	| client --> link ==[ base delay > faults ]===|====>|  node:port |
//	|        <-- link ==[ faults < base delay ]===|<====|            |
//	+---------------------------------------------+     +------------+
//
// Each direction of a connection is a chain of toxics between two sockets: the base delay first, then those of
// impairments, ours and toxiproxy's. Each connection has its own chains, so one that hangs delays no fault on
// another. "Up" is the direction from the dialing host to the node, "down" is the way of the answers.
//
// Guarantees:
//
//   - Bytes arrive complete and in order, whatever is added or removed meanwhile. A connection that lost bytes
//     in a drop is reset when the drop is healed, because no network delivers a stream with a hole.
//   - A toxic that ends a stream ends the connection, after the bytes that it passed on: toxiproxy's timeout and
//     limit_data close it, reset_peer resets it.
//   - Adding and removing a fault never waits for an application: each stage of the chain accepts every chunk
//     at once. Memory is bounded: the link stops reading from a sender with 1 MiB under way.
//   - An end of stream, or a reset, passes the toxics after the bytes that were sent before it, and a hold or drop
//     only when that is healed. A `reset` fault, in contrast, reaches both sides at once.
//   - The link accepts a connection begun during a hold or drop, so its program sees a connection that does not
//     answer. It dials the node after the heal, if the program still waits, as a repeated SYN would. The node
//     never hears of a connection that was given up.
//   - A new connection costs one round trip of the delays in force, as a TCP handshake does. Where the node
//     refuses, the program's connection is reset.
//
// # Toxics
//
// toxiproxy's own toxics do not act as a network does: its timeout discards bytes, its latency waits for one chunk
// after the other (so a delay also limits the throughput) in steps of a millisecond, and a removed toxic loses
// what it cannot pass on in five seconds. Ours:
//
//	locklab-latency    every byte arrives Delay (plus jitter) after it was sent
//	locklab-bandwidth  bytes leave at a fixed rate
//	locklab-flaky      some chunks are "lost": they and all behind them come late
//	locklab-hold       nothing passes; everything arrives, in order, on removal
//	locklab-drop       bytes vanish while the connection stays open
//	locklab-reset      connections are reset, by the link itself
//
// # Proof
//
// Each host runs an echo service and probes its peers through links that take the same faults. [Report] has, for
// each peer, what was sent and answered and how long it took and, for each origin, what was heard: the reports of
// two hosts tell a lost request from a lost answer. The echo service adds when it read each probe, so that each
// way is compared with itself. Ages are relative to the report, so hosts need no common clock.
//
// Probes have links of their own, so the data links are watched too, from [Host.Apply] to [Host.Heal]: how long
// did the bytes that arrived in that time take to leave? Under a hold, drop or reset none may leave; under a
// latency or bandwidth none before its time, less a quarter of it or 200 µs. Only probes can prove jitter and
// flaky, which spare bytes by chance, faults from outside the lab, and faults of links without traffic.
package link
