// Package agent runs the nodes of one host as child processes and lets a controller
// start, kill, pause, resume and restart them over HTTP.
//
//	controller (locklab run)                      host
//	  Client ──── HTTP+JSON, bearer token ────▶ Agent ──starts──▶ locklab node ROLE ──starts──▶ redis-server ...
//	  Follower ◀─ events, JSON lines ────────── Agent ◀─ fd 3 ─── node
//
// One code path serves every topology: locally the controller's process hosts one Agent per
// host; in Compose and on AWS each host runs locklab agent.
//
// # Guarantees
//
//   - No orphan survives the agent, even after SIGKILL: on Linux the kernel kills its
//     children (parent-death signal), elsewhere they end with their standard input.
//     Nodes have their own process groups, so Ctrl-C reaches only the controller.
//   - Start begins with an empty data directory; Restart keeps the data unless it is
//     told to wipe it. Both return once the node is ready, and their error shows the
//     end of its log. A node keeps its addresses until it is removed.
//   - Kill, Pause, Resume and Stop return once the kernel has confirmed the effect, and their
//     event has that time (FromNS is the time of the signal). Outside Linux the effect of
//     Pause and Resume is not confirmed.
//   - Events are numbered from 0 without gaps. Events that a node wrote before it was killed
//     come before the event of its end. The agent keeps events until the follower asks for
//     later ones; if the follower stays away for too long, it gets [ErrEventsLost].
//   - Only the given roles run; names are checked; nothing from the wire is a path,
//     a program or a shell command.
//
// api.go has the API. Errors are {error, kind}; see [httpapi.Error]. Every request needs the token.
package agent
