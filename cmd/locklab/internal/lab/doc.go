// Package lab runs a comparison: for each lock and scenario it has a cluster of
// real processes brought up, lets the workload run while the scenario breaks something,
// and judges the history that this leaves.
//
// It is where the parts meet that do not know each other: clusters, faults,
// workloads, checkers and results.
package lab
