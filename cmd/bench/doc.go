// Package bench has Go benchmarks of how fast the lab's own parts are, as ratios against a peer or
// a floor that is measured in the same run, in turn. `make bench` runs them:
//
//	make bench                             every row
//	make bench BENCH='-rows redlock'       the rows whose name matches
//	make bench BENCH=-check                fail if a figure to reach is surely missed
package bench
