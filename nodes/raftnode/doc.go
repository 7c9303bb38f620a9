// Package raftnode is one server of the raft lock service: the state machine of
// locks/raftlock/fsm on hashicorp/raft, with clients served over locks/raftlock/wire.
//
//	client streams          hub                     raft                    disk
//	  requests ──────▶ an entry a frame ──▶ leader ──▶ followers ──▶ log, fsync
//	  answers  ◀────── outputs of the state machine ◀── committed entries
//
// The raft library stores and sends all entries together that arrive while earlier ones are being
// stored (group commit), so one fsync per server carries the commands of many clients.
//
// Every answer to a client comes from a committed entry. So a leader that has lost its quorum
// answers no client, even before it notices, and an old leader cannot renew a lease that a new
// leader is about to end.
//
// A service is founded once, by the first process of each server (Config.Founds). Any other server
// without data has lost them and does not start: it may have voted in a term that it has forgotten,
// and could elect a second leader for that term.
//
// Only the leader measures leases, on its monotonic clock, from when it applied a session's last
// command. A new leader measures from when it began to serve, so every session gets a full lease
// again. Clients measure from when they sent the answered request, which is earlier than either. No
// two clocks are ever compared.
package raftnode
