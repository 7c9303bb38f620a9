// Package redisnode runs Redis as a node of the lab: the redis-server from PATH with its
// own configuration. Without redis-server it runs an embedded stand-in, so that the lab
// works on a bare machine.
//
//	redis-server on PATH    the node runs redis-server DIR/redis.conf, and polls PING
//	otherwise               the node serves the stand-in itself
//
// Servers may also replicate ([Replication]), and redis-server may run as Sentinel
// ([SentinelRole]). The stand-in can do neither.
//
// The stand-in is miniredis with a real clock. It keeps nothing on disk and is many
// times slower in Lua, so its figures say nothing about Redis. Reports show its version,
// which names it as a stand-in.
package redisnode
