// Package history defines the events that a run leaves behind and reads and
// writes them as JSON lines: append-only, one event a line, flushed while the run
// goes on, so that a run that was killed can still be judged and reported.
//
// Three records meet in one file: what the lock's servers granted, what its
// clients believed, and what the resource (the rooms on the workers) really saw.
//
//	masters ──acquire, release, lost, order──┐
//	workers ──room (the oracle)──────────────┤
//	agents  ──node, fault────────────────────┼──▶ Writer ──▶ history.jsonl
//	load generator ──match, phase────────────┘                    │
//	                                    checkers, reports ◀── Read
//
// A [Writer] takes events from any number of goroutines and flushes them every
// 100 ms. [Read] gives them back one by one, in the order of the file, which
// is not the order of time: sort by AtNS for that. It reads gzipped
// files too, and forgives exactly one damage, the torn last line of a killed
// writer; everything else is an error that names file and line.
//
// The codec ([AppendJSON], [Decoder]) is hand-written for the lines that the lab
// itself writes, field by field in their order, and leaves all others to
// encoding/json, so the two agree on every input; [Read] has two goroutines
// decode, and reads a million events in about 0.4 s.
package history
