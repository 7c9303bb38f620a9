// Package process is the frame of every node: the other end of the agent's protocol. A node
// may run a foreign server ([Node.Serve]).
//
//	agent                                       node (locklab node ROLE --config FILE)
//	  writes FILE: name, host, addrs, settings ──▶ Run reads it, strictly
//	  stdin: orders, net/rpc ────────────────────▶ its end means: stop
//	  SIGTERM ───────────────────────────────────▶ stop
//	  file descriptor 3 ◀─────────────────────────  history events, JSON lines
//	  file descriptor 4 ◀─────────────────────────  answers to orders
//	  log file ◀─────────────────────────────────  stderr, slog JSON
//
// A [Main] reads its settings (node.Decode), listens on node.Addrs, calls node.Ready when it answers, and returns
// when its context ends.
//
// node.Recorder queues events in memory, and a goroutine writes them to the pipe in as few
// writes as possible. Events in the pipe survive SIGKILL of the node; Flush waits until all
// are there. A slow reader finally blocks Record: events are never dropped.
package process
