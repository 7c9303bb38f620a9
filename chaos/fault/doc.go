// Package fault says what each kind of fault does: which links of which hosts are
// impaired and how, which processes are killed or stopped, and how the probes can
// tell that it is so. It only plans, as a pure function of the inventory; the
// runner in the package above carries the plans out.
//
// Each kind is an entry of kinds.go: its name, its fields, how they are read and checked, the
// plan that is made of them, and what proves it. What a link does to its bytes is a toxic's, and travels as one.
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
