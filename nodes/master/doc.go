// Package master is the matchmaking server: it finds a seat in a room for each
// player, and has a room made where there is none. Rooms are expensive, so however
// many masters are asked at the same time by players of one group, one room is to
// be made: that is what the lock under test is for.
//
//	player ──> known rooms, most free seats first ──200──> seat
//	              │ none has a seat                   ^
//	              v                                   │ (a room turned up meanwhile:
//	           wait for the lock of the group ────────┤  give the wait up)
//	              │                                   │
//	              v                                   │
//	           look at all workers again ─────────────┤
//	              │ none has a seat, lock not lost    │
//	              v                                   │
//	           order a room, release the lock ────────┘
//
// What the master knows of rooms comes from the workers' feeds and may be old; the
// worker gives the seats (409 when the room is full). Requests under
// way count against the seats known, so that concurrent players spread over rooms.
// A worker that has been silent is suspect until it is heard of again: its rooms are not proposed, but under the lock it is asked all the same,
// with less patience.
//
// Everything that a worker is asked for may be repeated without a second effect,
// so a request that met a dead connection is repeated at the same worker. An order
// whose outcome stays unknown is never repeated at another one. A seat request that
// was not answered in time may leave an empty seat taken.
//
// # HTTP API
//
//	POST /v1/match {"player":"p","group":"g"}
//	     200 {"room":"w1-k3x9-12","worker":"w1","state":"open","created":false}
//	     503 {"error":{"kind":"timeout","message":"..."},"outcome":"failed"}
//	GET  /v1/status  name, zone, lock, holds, waiting, rooms known, workers with the
//	                 state of their feed: live, silent or down
//	GET  /v1/health  204
//
// created says that the room was ordered for this request. outcome is "unknown"
// when a seat may be taken or a room ordered in spite of the error; a request that is
// wrong (400, 413) has none, and no effect. The kinds are those of locks.ErrorKind
// (timeout, unavailable, unknown, canceled, ...) and
// capacity, stopping. What was injected as Mounts is served beside it.
//
//	curl -d '{"player":"p1","group":"g"}' http://127.0.0.1:8081/v1/match
//
// # History
//
// The master records acquire, release and lost for each hold, and an order event
// for each room that it asked a worker for, with the workers that it could not see
// when it decided. Client is the player, Hold the grant, unique among all masters
// and their incarnations.
//
// Its canary asks for canary-NAME every 100 ms from when the master is ready, and gives it back at
// once: acquire events without a hold, which count in nothing but outages.
package master
