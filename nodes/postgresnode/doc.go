// Package postgresnode runs a PostgreSQL server as a node of the lab, with fsync. Its programs come
// from PATH, or else are the newest in Debian's directory.
//
//	agent ──▶ locklab node postgres ──▶ initdb (the first time), then postgres
//
// PostgreSQL refuses to run as root. An agent that is root runs it as the user postgres, or
// nobody, and passes its data directory as an open file, since that user cannot reach it by
// name. The server's processes leave the node's process group; the agent finds them anyway.
package postgresnode
