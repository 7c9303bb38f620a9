// Package fsm is the lock service's state machine: a pure function from the
// committed log to who holds what. It has no goroutine, clock or socket, and the
// same entries in the same order give the same state on every server.
//
//	entry i ──> commands, in order:   acquire  appends a claim to the resource's queue
//	                                  release  takes a claim out, held or waiting
//	                                  expire   takes out all claims of a session
//	        └─> at the end of the entry: every free resource with a queue
//	            is granted to the head of the queue, with fencing token i
//
// Granting once, at the end of the entry, is what makes the log index a fencing
// token although many commands share an entry: one resource is granted at most
// once per index, so no two grants of it ever carry the same token.
//
// Retries are harmless. A client numbers the requests of its session and says
// with each of them below which number it has every answer (its floor). What was
// answered at or above the floor is remembered and answered again from memory;
// what is below is ignored. At most [Window] answers are kept per session. This is
// the scheme of D. Ongaro, "Consensus: Bridging Theory and Practice", section 6.3,
// with a window so that a client may have many requests in flight.
package fsm
