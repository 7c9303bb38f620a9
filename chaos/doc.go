// Package chaos carries scenarios out: it begins each fault at its time, sees by
// the probes that it is really there, heals it, sees that it is really over, and
// records all that: the ledger of the run is in its history.
//
//	scenario ──> fault.Fault ──> Plan ──> LinkControl (per host), NodeControl
//	                                           │ probes, process states
//	                     history  <── proof <──┘
//
// What a fault is, is in package fault; what carries it on a host, in package link;
// scenarios are in package scenario. This package needs no socket: the controller
// hands it the clients of its agents.
//
// A fault has five moments: asked, began (when the last of the traffic it should
// hit was seen to be hit), heal asked, ended (when the last of it was seen to be
// back), and what was not seen is not proven. Nor is a fault of links if a byte of the
// workload, on its own connections, passed as if the fault were not there: see
// package link for what can be told of which fault. Each ordered pair of hosts that a fault is
// to hit must show it, or nine of ten where the fault draws what it hits. Delays are compared
// with what each way took just before the fault, the quick quarter with the quick quarter, and
// must add more than twice what that varied by. In the history, From and To of a
// fault of links are its two sides as the scenario names them; a fault that is
// written with "between" hits both ways.
//
//	err := chaos.Run(ctx, config, scenario, 20*time.Second, clock.Mono())
package chaos
