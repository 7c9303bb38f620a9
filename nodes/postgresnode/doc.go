// Package postgresnode runs a PostgreSQL server as a node of the lab, with fsync. Its programs are
// those of PATH, or the newest where Debian keeps them.
//
//	agent ──▶ locklab node postgres ──▶ initdb (the first time), then postgres
//
// PostgreSQL refuses to run as root. An agent that is root runs it as the user postgres, or
// nobody, and hands it its directory as an open file: that user could not reach it by name.
// The server's processes leave the node's process group, where the agent looks for them too.
package postgresnode
