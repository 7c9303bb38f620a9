// Package raftnode is one server of the raft lock service: the state machine of
// locks/raftlock/fsm on hashicorp/raft, with clients served over locks/raftlock/wire.
//
//	client streams          hub                     raft                    disk
//	  requests ──────▶ an entry a frame ──▶ leader ──▶ followers ──▶ log, fsync
//	  answers  ◀────── outputs of the state machine ◀── committed entries
//
// The raft library stores and sends together what arrives while the entries before are on
// their way (group commit), so one fsync per server carries the commands of many clients.
//
// Whatever a client hears comes out of a committed entry. A leader that has lost
// its quorum therefore answers nobody, however long it takes to notice, and an
// old leader cannot renew a lease that a new one is about to end.
//
// A service is founded once, by the first process of each server (Config.Founds). A server
// that has no data and does not found has lost them, and does not start: it may have voted
// in a term that it has forgotten, and elect a second leader of it.
//
// Leases are measured by the leader alone, on its monotonic clock, from the
// moment it applied a session's last command; a new leader measures from the
// moment at which it began to serve, so it grants every session a full lease
// again. Clients measure from the moment they sent what was answered, which is
// earlier than either. No clock is ever compared with another's.
package raftnode
