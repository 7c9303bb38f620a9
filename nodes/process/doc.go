// Package process is what all nodes run inside: the other end of the agent's protocol. A node
// may run a foreign server beside it ([Node.Serve]).
//
//	agent                                       node (locklab node ROLE --config FILE)
//	  writes FILE: name, host, addrs, settings ──▶ Run reads it, strictly
//	  stdin: orders, net/rpc ────────────────────▶ its end means: stop
//	  SIGTERM ───────────────────────────────────▶ stop
//	  file descriptor 3 ◀─────────────────────────  history events, JSON lines
//	  file descriptor 4 ◀─────────────────────────  answers to orders
//	  log file ◀─────────────────────────────────  stderr, slog JSON
//
// A main is a function of a context and a [Node]. It reads its settings (node.Decode), listens on node.Addrs, calls
// node.Ready when it answers, and returns when the context ends.
//
// node.Recorder puts events into memory and a goroutine writes them to the pipe in
// as few writes as it can. What has reached the pipe survives the node's SIGKILL;
// Flush waits until that is so. A reader that does not keep up slows Record down
// in the end: events are never dropped.
package process
