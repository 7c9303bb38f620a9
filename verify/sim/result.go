package sim

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	json "github.com/go-json-experiment/json/v1"
)

// Hist is a histogram of times, right within 1 %. The zero value is empty.
type Hist struct{ h *hdrhistogram.Histogram }

const histMax = 100 * time.Hour

func (h *Hist) of() *hdrhistogram.Histogram {
	if h.h == nil {
		h.h = hdrhistogram.New(int64(time.Microsecond), int64(histMax), 2)
	}
	return h.h
}

func (h *Hist) add(v time.Duration) { _ = h.of().RecordValue(int64(min(v, histMax))) } // it fits

// At is a quantile, in percent; 100 is the most. 0 if it is empty.
func (h Hist) At(percent float64) time.Duration {
	if h.h == nil {
		return 0
	}
	return time.Duration(h.h.ValueAtQuantile(percent))
}

// MarshalJSON writes some quantiles, in nanoseconds.
func (h Hist) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]time.Duration{"p50": h.At(50), "p99": h.At(99), "max": h.At(100)})
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
	Runs      int           `json:"seeds"`
	Virtual   time.Duration `json:"virtual_ns"` // until the last client was served, or nothing could happen any more
	Events    uint64        `json:"events"`
	Messages  uint64        `json:"messages"` // sent
	Grants    uint64        `json:"grants"`
	GiveUps   uint64        `json:"gave_up"`
	Lost      uint64        `json:"lost"`      // holds whose lease ended
	Wait      Hist          `json:"wait_ns"`   // of clients, from asking to holding
	Truncated int           `json:"truncated"` // runs that MaxEvents ended
}

func (t *Totals) merge(o *Totals) {
	t.Runs += o.Runs
	t.Virtual += o.Virtual
	t.Events += o.Events
	t.Messages += o.Messages
	t.Grants += o.Grants
	t.GiveUps += o.GiveUps
	t.Lost += o.Lost
	t.Truncated += o.Truncated
	if o.Wait.h != nil {
		t.Wait.of().Merge(o.Wait.h)
	}
}
