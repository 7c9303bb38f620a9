// Package etcdnode runs a member of an etcd cluster as a node of the lab: the etcd from
// PATH, with its log on disk and its fsync.
//
//	etcd ──▶ http://etcd-c:2380 ──HTTP_PROXY──▶ this process ──▶ link ──▶ etcd of etcd-c
//
// All members use the same URL for a member, but in the lab each pair of hosts has its own
// link. So the URLs have invalid host names, and a proxy beside each etcd, set by its
// environment, maps them to links. That adds a hop within the host to each peer message.
package etcdnode
