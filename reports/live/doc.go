// Package live shows a comparison while it runs: a page that browsers open, kept up to
// date by server-sent events.
//
//	lab ──events, runs, rows──▶ Board ──every 250 ms──▶ model ──▶ parts of the page ──▶ browsers
//	         (never waits)       inbox   one goroutine        each viewer gets those that changed
//
// The lab tells a [Board] the events that it records anyway. The Board puts them into an inbox and
// returns; one goroutine folds them into a model. Each viewer renders the newest model, so a slow
// browser delays no other and misses frames. A new connection begins with every part.
//
// The page decides nothing: its duplicates come from the checker that judges the run in the end, over
// the rooms of the last seconds, and its charts are the report's.
package live
