// Package series turns histories into what is drawn over time: rates, latencies,
// faults and violations in bins of 100 ms. It serves plots only. What a violation is,
// and when it began, comes from the result: the checkers judge, nobody else.
//
// Times are milliseconds since the measured part of the run began. The histories
// of several repeats are laid over each other: rates are means, latencies pooled.
package series
