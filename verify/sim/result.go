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

// Add counts one value.
func (h *Hist) Add(v time.Duration) { _ = h.of().RecordValue(int64(min(v, histMax))) } // it fits

// Merge adds all values of o.
func (h *Hist) Merge(o Hist) {
	if o.h != nil {
		h.of().Merge(o.h)
	}
}

// Spread is some figures of a distribution, in nanoseconds; 0 if it is empty.
type Spread struct {
	Mean time.Duration `json:"mean"`
	P50  time.Duration `json:"p50"`
	P99  time.Duration `json:"p99"`
	Max  time.Duration `json:"max"`
}

// Spread is that of a histogram.
func (h Hist) Spread() Spread {
	if h.h == nil {
		return Spread{}
	}
	at := func(q float64) time.Duration { return time.Duration(h.h.ValueAtQuantile(q)) }
	return Spread{time.Duration(h.h.Mean()), at(50), at(99), time.Duration(h.h.Max())}
}

// MarshalJSON writes its spread.
func (h Hist) MarshalJSON() ([]byte, error) { return json.Marshal(h.Spread()) }

// Rank is what happened to the clients of one peer.
type Rank struct {
	Grants    uint64 `json:"grants"`
	GiveUps   uint64 `json:"gave_up"`
	Lost      uint64 `json:"lost"`       // holds whose lease ended
	Turns     uint64 `json:"turns"`      // of the peer; a cohort serves several clients in one
	Bypass    uint64 `json:"bypass"`     // grants to others while it waited, over all turns
	BypassMax uint64 `json:"bypass_max"` // the most in one turn
	Wait      Hist   `json:"wait_ns"`    // of clients, from asking to holding
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
	Truncated int           `json:"truncated"` // runs that MaxEvents ended
	Ranks     []Rank        `json:"ranks"`
	Handoff   Hist          `json:"handoff_ns"` // from the end of a hold, while others waited, to the next one
}

// Merge adds other totals.
func (t *Totals) Merge(o *Totals) {
	t.Runs += o.Runs
	t.Virtual += o.Virtual
	t.Events += o.Events
	t.Messages += o.Messages
	t.Grants += o.Grants
	t.Truncated += o.Truncated
	t.Handoff.Merge(o.Handoff)
	if t.Ranks == nil {
		t.Ranks = make([]Rank, len(o.Ranks))
	}
	for i := range o.Ranks {
		r, more := &t.Ranks[i], &o.Ranks[i]
		r.Grants += more.Grants
		r.GiveUps += more.GiveUps
		r.Lost += more.Lost
		r.Turns += more.Turns
		r.Bypass += more.Bypass
		r.BypassMax = max(r.BypassMax, more.BypassMax)
		r.Wait.Merge(more.Wait)
	}
}

// Wait is that of all clients.
func (t *Totals) Wait() (all Hist) {
	for i := range t.Ranks {
		all.Merge(t.Ranks[i].Wait)
	}
	return all
}

// Jain is Jain's index of how even the peers that wanted the lock were served: 1 is even, 1/n is all
// for one. 0 if none was served.
func (t *Totals) Jain() float64 {
	sum, squares, n := 0.0, 0.0, 0.0
	for i := range t.Ranks {
		if r := &t.Ranks[i]; r.Grants+r.GiveUps > 0 {
			g := float64(r.Grants)
			sum, squares, n = sum+g, squares+g*g, n+1
		}
	}
	return ratio(sum*sum, n*squares)
}

// BypassMax is the most grants to others that any peer waited for in one turn.
func (t *Totals) BypassMax() (most uint64) {
	for i := range t.Ranks {
		most = max(most, t.Ranks[i].BypassMax)
	}
	return most
}

// PerGrant is how many messages a grant took.
func (t *Totals) PerGrant() float64 { return ratio(float64(t.Messages), float64(t.Grants)) }

// BypassMean is per turn.
func (r *Rank) BypassMean() float64 { return ratio(float64(r.Bypass), float64(r.Turns)) }

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
