// Package lab runs comparisons: for each lock and scenario it brings up a cluster of real processes, runs the workload
// while the scenario breaks something, and judges the history. Here clusters, faults, workloads, checkers and results
// meet, which do not know each other.
package lab
