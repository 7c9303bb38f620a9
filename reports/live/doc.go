// Package live shows a comparison while it runs: a page that browsers open, kept up to
// date by server-sent events.
//
//	lab ──events, runs, rows──▶ Board ──every 250 ms or more──▶ model ──▶ fragments ──▶ mailboxes ──▶ browsers
//	         (never waits)       inbox      one goroutine    one rendering     the newest
//	                                                       for all viewers    of each only
//
// The lab tells a [Board] what it records anyway. The Board takes that into an inbox and
// returns; one goroutine folds it into a model and, while somebody looks, renders the
// parts of the page that changed, once for all viewers of a language and a width. A viewer's
// mailbox keeps the newest rendering of each part, so that a slow browser delays nobody
// and catches up with what is, not with what was. Whoever connects, or connects again,
// begins with every part.
//
// The page decides nothing: the duplicates on it are those of the checker that judges the
// run in the end, over the rooms of the last seconds, and its charts are the report's.
package live
