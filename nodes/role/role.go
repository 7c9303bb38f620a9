// Package role defines what an agent must know of a kind of node to run it: which
// ports it listens on, which program it is and how to see that it is ready. The
// agent runs the roles that it was given and no others.
package role

import (
	"context"
	"encoding/json"
)

// Node is one node as its agent has prepared it.
type Node struct {
	Name string
	// Dir is the node's data directory. It exists, and it survives a restart with data.
	Dir string
	// Addrs maps each port name of the role to the address (host:port) to listen on.
	Addrs map[string]string
	// Settings is what the controller sent: JSON, to be decoded strictly by the role.
	Settings json.RawMessage
	// Executable is the locklab binary itself, for roles that it implements.
	Executable string
}

// Command is a program to start.
type Command struct {
	Path string
	Args []string // without the program's name
	Env  []string // added to the agent's environment
}

// Role is one kind of node.
type Role struct {
	// Name is the word for it: master, worker, raft, redis ...
	Name string
	// Ports names what it listens on, such as "http" and "peer".
	Ports []string
	// Own says that the program is locklab itself and speaks the agent's protocol:
	// it writes history events to file descriptor 3 (the first of them a KindNode
	// event with State "ready") and ends when its standard input ends.
	Own bool
	// Command validates the settings and says what to start.
	Command func(Node) (Command, error)
	// Ready blocks until the node answers; nil for Own roles, which report it.
	Ready func(context.Context, Node) error
	// Version is the server's version as the report shows it.
	Version func(context.Context) (string, error)
}
