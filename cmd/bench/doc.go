// Package bench compares how fast the lab's parts are with a peer or a floor, in turn: `make bench`, or with
// BENCH="-rows redlock -check" rows by their names; -check fails where a figure to reach is surely missed.
package bench
