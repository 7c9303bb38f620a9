// Package matchmaking plays the players: they arrive in parties for groups, each
// is sent to one of the masters as a load balancer would, and what each master
// answered, and when, is recorded. Whether a group got one room or five is not
// seen here but by the oracle on the workers.
//
//	party of 3, group 7 ──▶ round robin ──▶ master-a  POST /v1/match
//	at one instant                     ├──▶ master-c       {"player":"p12","group":"g7"}
//	                                   └──▶ master-a  ◀── 200 {"room":..., "worker":..., "state":..., "created":true}
//	                                                      503 {"error":{"kind":..., "message":...}, "outcome":"failed"}
//
// How a request ends:
//
//   - 200: ok. 503: failed or unknown, as the master says. Anything else: unknown.
//   - Nothing within the timeout: unknown, and not tried again.
//   - The master refuses the connection or breaks it: nobody will ever answer this
//     player there, so the master counts as down for 200 ms and the player goes to
//     the next one at once, as behind any load balancer. When all refuse: failed.
//
// One event of kind match is recorded for each player, and the phases of the run.
package matchmaking
