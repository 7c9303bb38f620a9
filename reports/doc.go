// Package reports turns the directories that runs leave behind into reports that
// a team can decide from. It reads data only and never starts a node.
//
//	DIR/result.json ----------+--> findings --> console table, headline
//	                          |
//	DIR/histories/*.jsonl --> series --> plots --> DIR/index.html
//	                          |
//	                          +--> DIR/report.md, DIR/results.csv
//
// The verdicts and figures are those of result.json; histories are only drawn.
// A missing or broken history costs its plot and leaves a note, not the report.
package reports
