// Package reports turns the directories that runs leave behind into reports that
// a team can decide from. It reads data only and never starts a node.
//
//	DIR/result.json --> result.Figures ----> console table, results.csv
//	                |                   +--> findings --> index.html, report.md, headline
//	                +------> violations +--> plots ----+
//	DIR/histories --> Reader --> series +
//	                         +-> scenes ----> evidence.html
//
// The verdicts, the figures and the marks of violations are those of result.json, and
// the reader that is handed in draws on what the checkers count. A missing or broken
// history costs its plot and leaves a note, not the report.
package reports
