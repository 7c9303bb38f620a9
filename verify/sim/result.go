package sim

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const longestWait = 100 * time.Hour

// newWaits is an empty histogram of times in nanoseconds, right within 1 %.
func newWaits() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(time.Microsecond), int64(longestWait), 2)
}

// Result is what a run came to.
type Result struct {
	Totals                  // of one run
	Findings []Finding      // the first of each name
	Counts   map[string]int // of all, by name
}

// Bad is the first finding that is a violation, nil if there is none.
func (r *Result) Bad() *Finding {
	for i := range r.Findings {
		if r.Findings[i].Kind.Bad() {
			return &r.Findings[i]
		}
	}
	return nil
}

// Totals adds up runs.
type Totals struct {
	Runs     int
	Virtual  time.Duration // until the last client was served, or nothing could happen any more
	Messages uint64        // sent
	Grants   uint64
	Wait     *hdrhistogram.Histogram // of clients, from asking to holding
}

func (t *Totals) merge(o *Totals) {
	t.Runs += o.Runs
	t.Virtual += o.Virtual
	t.Messages += o.Messages
	t.Grants += o.Grants
	t.Wait.Merge(o.Wait)
}
