// Package loadgen decides when operations start, and proves that they did.
//
// In the open loop ([Open]) every operation has an intended time that follows
// from the schedule alone: never from when earlier operations were sent or
// answered. Latency counts from the intended time, so a system that stalls for a
// second shows a second (no coordinated omission; Gil Tene, "How NOT to Measure
// Latency"). In the closed loop ([Closed]) each client sends its next operation
// when the last one ended, which finds throughput ceilings and hides stalls.
//
//	schedule ──▶ one pinned thread ──▶ idle worker, or a new one ──▶ do(ctx, op)
//	(pure)       nanosleep, 1 ns slack                lateness = sent - intended
//
// A late generator never skips and never slows down: it sends all that is due at
// once. What it cannot send (too many operations in flight, or the end came
// first) is counted as unsent. [MinSent] and [MaxLateness] say when that makes a run worthless.
package loadgen
