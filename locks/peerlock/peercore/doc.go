// Package peercore is what a pure peer-to-peer lock algorithm and whatever runs it
// (the shell in peerlock, an exploration, a simulation) say to each other.
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
