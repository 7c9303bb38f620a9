// Package worker hosts rooms: the expensive game processes that masters compete
// for. A room takes a while to boot, occupies memory, gives away its seats one by
// one and closes some time after the last is taken. The worker decides who gets a
// seat, and it is the oracle of the lab: each change of a room is recorded under
// the same mutex that makes it true.
//
//	order ──> starting ──boot──> open ──last seat──> full ──life──> closed
//	              │                └──────────max_open──────────────^
//	              └──last seat──> full (boots on; life counts from the later of both)
//
// A room that has been full never has a free seat again.
//
// # HTTP API
//
// Bodies are JSON. Unknown fields, and bodies above 4 KiB, are refused. Names
// (group, order, by, player) have 1 to 128 bytes and no control characters. Every
// request bears the token that the worker was given, which only the run's masters have:
// no other program can order a room that the oracle counts (401).
//
//	POST /v1/rooms {"group":"g","order":"o-1","by":"master-a"}
//	     201 the new room; 200 the room that this order made before
//	     409 conflict (the order id was used for another group); 507 capacity
//	POST /v1/rooms/{id}/seats {"player":"p"}
//	     200 the room; again for the same player: no second seat
//	     409 full, closed (both with the room); 404 not-found
//	GET  /v1/rooms?group=g   the live rooms of a group; without group: all of them
//	GET  /v1/feed            one JSON object a line, for as long as the client stays
//	GET  /v1/status          its name, how many rooms and feeds
//	GET  /v1/health          204
//
// A room reads
//
//	{"room":"w1-k3x9-12","group":"g","worker":"w1","state":"open","capacity":8,"free":3,"rev":41}
//
// rev is a counter of the worker's changes: of two answers about a room, the one
// with the higher rev is newer. A listing holds every change up to its own rev.
// An error reads {"error":{"kind":"full","message":"..."}}.
//
// The feed begins with a line of type "snapshot" (all live rooms), then has
// "change" lines (rooms that changed since the last line, closed ones included,
// each once; at most one line in feed_gap, in seat_gap while only seats were taken)
// and "beat" lines while nothing changes. A client that does not read for some seconds is cut off.
//
//	curl -d '{"group":"g","order":"o1","by":"me"}' http://127.0.0.1:8080/v1/rooms
//	curl -N http://127.0.0.1:8080/v1/feed
package worker
