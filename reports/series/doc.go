// Package series turns histories into what is drawn over time: rates, latencies,
// faults and duplicates in bins of 100 ms. It serves plots only. The verdicts and
// figures of a result come from the checkers, which count more carefully.
//
// Times are milliseconds since the measured part of the run began. The histories
// of several repeats are laid over each other: rates are means, latencies pooled.
package series
