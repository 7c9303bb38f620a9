package lab

import (
	"sync"

	"locklab/workloads/history"
)

// headed is a recorder whose first event comes last: what is recorded before the
// description of the run is known waits for it.
type headed struct {
	mu      sync.Mutex
	out     history.Recorder
	begun   bool
	waiting []history.Event
}

// Record passes the event on, or keeps it until Begin.
func (h *headed) Record(e history.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.begun {
		h.waiting = append(h.waiting, e)
		return
	}
	h.out.Record(e)
}

// Begin writes the description of the run and everything that waited for it.
// Later calls do nothing.
func (h *headed) Begin(head history.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.begun {
		return
	}
	h.begun = true
	h.out.Record(head)
	for _, e := range h.waiting {
		h.out.Record(e)
	}
	h.waiting = nil
}
