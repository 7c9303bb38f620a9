// Package bench has Go benchmarks of how fast the lab's own parts are, as ratios against a peer or a floor that is
// measured in the same run, in turn: `make bench`, with BENCH="-rows redlock -check" for rows by their names, and to
// fail if a figure to reach is surely missed.
package bench
