// Package chaos runs scenarios: it begins each fault on time, proves by probes that the fault is in force,
// heals it, proves that it is over, and records these steps in the history of the run (the ledger).
//
//	scenario ──> fault.Fault ──> Plan ──> LinkControl (per host), NodeControl
//	                                           │ probes, process states
//	                     history  <── proof <──┘
//
// Package fault defines the faults, package link applies them to a host's links, package scenario has the
// timelines. This package opens no socket: the controller passes in the clients of its agents.
//
// A fault has four moments: asked, began (all affected traffic was seen hit), heal asked, ended (all of it
// was seen back). A moment that was not seen is not proven. A fault of links is not proven either if a byte
// of the workload passed unharmed on its own connections; package link says for which faults that can be
// told.
//
// Each ordered pair of hosts that a fault hits must show it; nine of ten where the fault hits at random.
// Delays compare the lower quartile of one-way times with that just before the fault, and must add more than
// twice what these times varied by. In the history, From and To of a fault of links are its two sides as the
// scenario names them; one written with "between" hits both ways.
//
//	err := chaos.Run(ctx, config, scenario, 20*time.Second, clock.Mono())
package chaos
