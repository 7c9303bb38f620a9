// Package agent runs the nodes of one host as child processes and lets a controller
// start, kill, pause, resume and restart them over HTTP.
//
//	controller (locklab run)                      host
//	  Client ──── HTTP+JSON, bearer token ────▶ Agent ──starts──▶ locklab node ROLE ──starts──▶ redis-server ...
//	  Follower ◀─ events, JSON lines ────────── Agent ◀─ fd 3 ─── node
//
// One code path serves every topology: locally the controller hosts one Agent per
// host in its own process, in Compose and on AWS each host runs locklab agent.
//
// # What is guaranteed
//
//   - No orphan survives the agent, also when it is SIGKILLed: on Linux the kernel
//     kills its children (parent-death signal), elsewhere they end because their standard input does.
//     Nodes live in process groups of their own, so Ctrl-C reaches the controller only.
//   - Start begins with an empty data directory; Restart keeps the data unless it is
//     told to wipe it. Both return once the node is ready, and their error shows the
//     end of its log. A node keeps its addresses until it is removed.
//   - Kill, Pause, Resume and Stop return once the kernel says that it is so, and the
//     event they leave bears that time (FromNS is when the signal was sent). So is the
//     state paused. Elsewhere than on Linux the effect of Pause and Resume is not
//     proven: nothing tells of it but the signal that was sent.
//   - Events are numbered from 0 without gaps. Those that a node wrote before it was
//     killed come before the event of its end. The agent keeps them until the follower asks for
//     later ones; if the follower stays away for too long the agent says [ErrEventsLost]
//     rather than leaving a hole.
//   - Only the given roles run; names are checked; nothing from the wire is a path,
//     a program or a shell command.
//
// api.go has the API. Errors are {error, kind}; see [httpapi.Error]. Everything needs the token.
package agent
