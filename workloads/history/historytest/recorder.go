// Package historytest keeps and reads events for tests.
package historytest

import (
	"slices"
	"sync"

	"locklab/workloads/history"
)

// Recorder keeps in memory what is recorded. The zero value is empty; it is safe for
// concurrent use.
type Recorder struct {
	mu     sync.Mutex
	events []history.Event
}

var _ history.Recorder = (*Recorder)(nil)

// Record keeps the event.
func (r *Recorder) Record(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// Events returns the recorded events of the kinds, or all, in order.
func (r *Recorder) Events(kinds ...history.Kind) []history.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.events), func(e history.Event) bool {
		return len(kinds) > 0 && !slices.Contains(kinds, e.Kind)
	})
}
