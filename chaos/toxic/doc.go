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
//
// All keep what is on its way in the stub's state, so that adding, changing or
// removing any toxic of the same connection neither loses nor reorders a byte
// (locklab-drop excepted), and all can be interrupted at every moment, also when
// the next stage does not take what they offer.
package toxic
