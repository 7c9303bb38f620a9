// Package redisnode runs Redis as a node of the lab: the redis-server from PATH
// with a configuration of its own, or, where there is none, an embedded stand-in, so
// that the lab works on a bare machine.
//
//	redis-server on PATH    the node runs redis-server DIR/redis.conf, and polls PING
//	otherwise               the node serves the stand-in itself
//
// A server may also be one of a primary and its replicas ([Replication]), and redis-server
// may run as Sentinel ([SentinelRole]). The stand-in can do neither.
//
// The stand-in is miniredis with a real clock. It keeps nothing on disk and is many
// times slower in Lua, so figures taken with it say nothing about Redis; its version,
// which reports show, says so.
package redisnode
