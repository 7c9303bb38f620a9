// Package view makes all that is told of a run once, from its result: the grid, four computed
// lines, and the tables. The console, report.md, the page and CI's files are writers of it.
//
//	result.File -> Of -> View -> Console, Full, Markdown, CSV, JUnit, Digest, the page
package view

import (
	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/workloads/result"
)

// Options are what the result does not say.
type Options struct {
	Width int    // of the console; 0 is 80
	Page  string // the path of the page
	Exit  int    // the exit code, where it is not that of the rows
	// Locks are all that will run, so that the grid of a run that goes on has its lines from the
	// start.
	Locks []string
	// Link is where the evidence of a cell is, for pages.
	Link func(result.Key) string
}

// View is what is told of a result. What says nothing is empty.
type View struct {
	Head       string        // 6 locks x 4 scenarios, matchmaking 300/s, faults of 2.8 to 4 s
	Seed       string        // seed 1
	Grids      []table.Table // of each workload: its locks and scenarios
	Legend     []string      // one line each
	CutOff     string        // made while cut off, not counted: ...
	Unexpected []string      // of each cell with a !: what was expected
	Warnings   []string
	Answers    []Line // at most four; none where there are several workloads
	Lab        string // 24 of 24 as expected, ...
	Why, Next  Suggestion
	Took       string // 4:31, exit 0

	f    result.File
	say  *lang.Lang
	link func(result.Key) string
	page string
}

// Line is a line with a label.
type Line struct{ Label, Text string }

// Suggestion is a command, and what it is for.
type Suggestion struct{ Command, For string }
