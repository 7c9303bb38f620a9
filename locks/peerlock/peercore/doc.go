// Package peercore is the interface between a pure peer-to-peer lock algorithm, the core, and
// the code that runs it: the shell in peerlock, an exploration or a simulation.
//
//	           Event: request, leave, receive, connect, disconnect,
//	                  wake, expire
//	shell ──────────────────────────────────────────────────────────────► core
//	      ◄──────────────────────────────────────────────────────────────
//	           Effect: send, hold, lose, pause, start, stop, store
//
// A core's state is what one peer knows of one resource. It has no goroutine, clock
// or socket: the same events in the same order give the same effects.
package peercore
