// Package mutex is the raw lock workload: clients acquire a resource, hold it for
// a while and release it. The clients run inside the masters, next to the lock
// client, so that no RPC of the load generator is part of a lock's latency; the
// controller only tells the masters what to run.
//
//	controller                         each master
//	Client.Run ──POST /v1/workload/start──▶ Handler ──▶ runner ──▶ locks.Locker
//	           ◀──GET  /v1/workload/status──    │
//	           ──POST /v1/workload/stop────▶    └──▶ history.Recorder
//	                                                 acquire, release, lost
//
// In the open loop (Plan.Rate above 0) acquisitions are due by schedule, and their
// latency counts from that time; each takes one of the master's clients, and waits
// when all are busy. In the closed loop each client starts again when it is done.
//
// A master that is restarted during the run has lost its plan; the controller
// notices and starts it again for the rest of the time.
//
//	POST start  {"id":"r1","node":"master-a1","clients":16,"resources":4,"hold_ns":1000000,...}  → 202
//	GET  status → 200 {"id":"r1","state":"running","acquired":812,"failed":0,"unsent":0}
//	POST stop   → 202; the state is "idle" once everything was released
//
// Errors are {"error":{"kind":"invalid","message":"..."}} with 400, 409 (another
// plan runs) or 413.
package mutex
