// Package checktest has the checkers judge what tests have in memory.
package checktest

import (
	"locklab/workloads/check"
	"locklab/workloads/history"
)

// Events judges a history.
func Events(events []history.Event, opts check.Options) *check.Findings {
	c := check.New(opts)
	for i := range events {
		c.Add(&events[i])
	}
	return c.Findings()
}
