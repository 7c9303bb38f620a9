// Package zookeepernode runs a server of a ZooKeeper ensemble as a node of the lab, with its
// log on disk and its fsync: Java from PATH, and the JARs where Debian keeps them or beside
// the zkServer.sh on PATH.
//
//	ZooKeeper ──SOCKS──▶ this process ──▶ link to a port of server 2 ──▶ ZooKeeper of server 2
//
// Servers know each other by one address each, which is in the zoo.cfg of all; and when one
// calls another with a higher number it says its own address, is hung up on, and is called
// back there. But in the lab the way from one host to another is a link of its own. So all
// that a server calls goes through a proxy beside it, which knows what link leads to which
// address, and nothing else. That costs a message between servers a hop within the host.
package zookeepernode
