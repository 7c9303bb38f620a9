// Package cluster brings the real processes of runs up and down: a fleet is the hosts with their agents and links, a
// layout says which nodes dial which, and a cluster is the nodes and links of one run, which faults can hit.
//
// It knows locks by what they need, and nothing of what is measured.
package cluster
