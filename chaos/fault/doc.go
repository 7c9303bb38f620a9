// Package fault defines what each kind of fault does: which links of which hosts it impairs and how, which
// processes it kills or pauses, and how the probes prove it. It only plans, as a pure function of the
// inventory; package chaos carries the plans out.
//
// Each kind is an entry of kinds.go: its name, its fields, how they are read and checked, its plan and its
// proof. Its effect on the bytes of a link is a toxic of package link.
//
//	YAML ── Read ──▶ Fault ── Plan ──▶ link.Impairment{toxic} ──▶ the links' connections
//	                            └────▶ Proof ◀── what the probes saw
//
// # Directions
//
// Traffic from host x to host y is the requests on the links that x dials to y,
// and the answers on the links that y dials to x. To cut it, x's links to y lose
// their upstream direction and y's links to x their downstream direction.
package fault
