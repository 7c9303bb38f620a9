// Package handoff is the workload in which clients in every master all wait for one
// resource, hold it for a moment and ask again. What is measured is how it passes from one
// to the next: the time from when a holder stops acting until one that had been waiting
// holds, and what that costs in wake-ups of waiters and in messages.
//
//	holder   ──────────release
//	waiter 1 ··················grant ─────release          a handoff is release to grant
//	waiter 2 ·················▲···················grant    woken in vain: the herd
//
// A client asks again as soon as it has released. Where it gets the lock before those who
// were waiting it has barged in, and they wait on: that is counted, and not a handoff.
//
// Wake-ups and messages are counted by the lock's clients, where those can count
// (locks.WakeupCounter, locks.MessageCounter); where they cannot there is no figure.
//
// Its clients are those of the workload mutex with a single resource, which run inside
// the masters: no RPC of the load generator is part of a handoff.
package handoff

// Path is where masters serve the workload.
const Path = "/v1/handoff/"
