// Package zookeepernode runs a server of a ZooKeeper ensemble as a node of the lab, with fsync.
// It uses Java from PATH, and the JARs in Debian's directory or beside the zkServer.sh on PATH.
//
//	ZooKeeper ──SOCKS──▶ this process ──▶ link to a port of server 2 ──▶ ZooKeeper of server 2
//
// All servers use the same address for a server, which is in zoo.cfg. A server that dials one with
// a higher number sends its own address, and is dialed back there. But in the lab each pair of
// hosts has its own link. So a proxy beside each server maps the addresses to links. That adds a
// hop within the host to each message between servers.
package zookeepernode
