// Package link carries the data connections between hosts and breaks them.
//
// A [Host] has all outbound links of one host. A link is the traffic from this
// host to one port of one node: the dialing program connects to the link's
// address on its own host, and the link connects to the node.
//
//	 host a                                              host b
//	+---------------------------------------------+     +------------+
//	| client --> link ==[ base delay > faults ]===|====>|  node:port |
//	|        <-- link ==[ faults < base delay ]===|<====|            |
//	+---------------------------------------------+     +------------+
//
// All bytes go one way: from a socket through a chain of toxics to the other socket. A base
// delay is the first toxic, behind it are the impairments', ours and toxiproxy's. Each
// connection has chains of its own, so one that hangs delays no fault on another. "Up" is the
// direction from the dialing host to the node, "down" is the way of the answers.
//
// What is guaranteed:
//
//   - Bytes arrive complete and in order, whatever is added or removed meanwhile.
//     A connection that lost bytes in a drop is reset when the drop is healed,
//     because no network delivers a stream with a hole.
//   - A toxic that ends a stream ends the connection, behind the bytes that it passed on:
//     toxiproxy's timeout and limit_data close it, reset_peer resets it.
//   - Adding and removing a fault never waits for an application: a stage of the chain always
//     takes what the one before offers, and memory is bounded by not reading from
//     a sender that has 1 MiB under way.
//   - An end of stream, or a reset, travels through the toxics behind the bytes that were sent
//     before it, and not at all through a hold or drop until that is
//     healed. A `reset` fault, in contrast, is felt at once by both sides.
//   - A connection begun during a hold or drop is accepted by the link (its
//     program sees a connection that does not answer) and is carried to the node
//     only after the heal, and only if its program still waits: as with a SYN
//     that is repeated until the network is back. The node never hears of one
//     that was given up.
//   - A new connection costs one round trip of the delays in force, as a TCP
//     handshake does. Where the node refuses, the program's connection is reset.
//
// # Toxics
//
// toxiproxy's own toxics do not do what a network does: its timeout throws bytes away, its latency
// waits for one chunk after the other (so a delay also limits the throughput) in steps of a
// millisecond, and a removed toxic may lose what it could not pass on in five seconds. Ours:
//
//	locklab-latency    every byte arrives Delay (plus jitter) after it was sent
//	locklab-bandwidth  bytes leave at a fixed rate
//	locklab-flaky      some chunks are "lost": they and all behind them come late
//	locklab-hold       nothing passes; everything arrives, in order, on removal
//	locklab-drop       bytes vanish while the connection stays open
//	locklab-reset      connections are reset; the link does it
//
// # Proof
//
// Each host runs an echo service and probes its peers through links that take the
// same faults. [Report] says per peer what was sent and answered and how long it
// took, and per origin what was heard, so that a lost request and a lost answer
// can be told apart by comparing two hosts' reports. The echo service says when it read each
// probe, so that each way of a round trip can be compared with what it took before. Ages are
// relative to the report, and ways compared with themselves: hosts need no common clock.
//
// Probes have links of their own. So the data links say, too, what passed: from
// [Host.Apply] to [Host.Heal] each notes how long what arrived in that time took to leave.
// Of a hold, drop or reset nothing may have left, of a latency or a
// bandwidth nothing sooner than it lets (down to three quarters of that and no finer
// than 200 µs). Of jitter and flaky, which spare any byte by chance, of what breaks outside the
// lab, and of links without traffic, only the probes speak.
package link
