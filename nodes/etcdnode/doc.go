// Package etcdnode runs a member of an etcd cluster as a node of the lab: the etcd from
// PATH, with its log on disk and its fsync.
//
//	etcd ──▶ http://etcd-c:2380 ──HTTP_PROXY──▶ this process ──▶ link ──▶ etcd of etcd-c
//
// Members tell each other one URL for each of them, the same for all, but in the lab the
// way from one host to another is a link of its own. So the URLs are names that exist
// nowhere, and a proxy beside each etcd, which it uses because its environment says so,
// knows the links. That costs a peer message a hop within the host.
package etcdnode
