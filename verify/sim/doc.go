// Package sim runs the pure cores of the peer-to-peer locks, the very code that production runs, in
// virtual time: peers in zones with latencies between them, clients that want one resource, and
// faults. It reads no clock, starts no goroutine within a run and draws every random number from the
// run's seed, so the same seed gives the same run, to the byte of its trace.
//
//	Config, Faults ──► Simulator ──► Result: violations, waits, messages
//	                   ├─ clients    think, ask, give up, hold, release
//	                   ├─ cores      one in each process; processes crash, restart and stop
//	                   ├─ checks     overlapping holds, tokens, peers that are stuck
//	                   ├─ links      one FIFO per direction; silence, reconnection
//	                   └─ faults     partition, crash, pause, slow, drift
//
// [Campaign] runs many seeds, each with faults drawn from it ([Draw]).
//
// Connections behave like those of package mesh: a direction that carries nothing for 400 ms ends the
// connection, both ends see a disconnect before they connect again, and what a cut holds back arrives
// after the heal, in order, if the connection still stands. A stopped process reads what has queued
// when it goes on. A killed one resets its connections. Heartbeats go unseen, no process
// runs late, and a step of a core takes no time.
package sim
