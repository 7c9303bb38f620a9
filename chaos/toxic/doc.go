// Package toxic holds the lab's own toxics for toxiproxy, which carries every link.
//
// toxiproxy's own ones do not do what a network does: its timeout toxic throws
// bytes away, its latency toxic waits for one chunk after the other (so a delay
// also limits the throughput) in steps of a millisecond, and a removed toxic may
// lose what it could not pass on in five seconds. Ours:
//
//	locklab-latency    every byte arrives Delay (plus jitter) after it was sent
//	locklab-bandwidth  bytes leave at a fixed rate
//	locklab-flaky      some chunks are "lost": they and all behind them come late
//	locklab-hold       nothing passes; everything arrives, in order, on removal
//	locklab-drop       bytes vanish while the connection stays open
//	locklab-reset      connections are reset; the link does it
//
// The stub's state ([State]) has the bytes on their way. So adding, changing or removing any
// toxic of a connection neither loses nor reorders a byte (locklab-drop excepted).
package toxic
