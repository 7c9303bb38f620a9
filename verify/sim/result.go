package sim

import "time"

// Rank is what happened to the clients of one peer.
type Rank struct {
	Grants  uint64
	GiveUps uint64
	Lost    uint64 // holds whose lease ended
	// Turns of the peer among the peers; a cohort serves several clients in one.
	Turns     uint64
	Bypass    uint64 // grants to others while it waited, over all turns
	MaxBypass uint64 // the most in one turn
	Wait      Hist   // of clients, from asking to holding
}

// MeanBypass is per turn.
func (r *Rank) MeanBypass() float64 {
	if r.Turns == 0 {
		return 0
	}
	return float64(r.Bypass) / float64(r.Turns)
}

func (r *Rank) merge(o *Rank) {
	r.Grants += o.Grants
	r.GiveUps += o.GiveUps
	r.Lost += o.Lost
	r.Turns += o.Turns
	r.Bypass += o.Bypass
	r.MaxBypass = max(r.MaxBypass, o.MaxBypass)
	r.Wait.Merge(&o.Wait)
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
	Runs      int
	Virtual   time.Duration // until the last client was served, or nothing could happen any more
	Events    uint64
	Messages  uint64 // sent
	Grants    uint64
	Truncated int // runs that MaxEvents ended
	Ranks     []Rank
	Wait      Hist // of clients
	Handoff   Hist // from the end of a hold, while others waited, to the next one
}

// Merge adds other totals.
func (t *Totals) Merge(o *Totals) {
	t.Runs += o.Runs
	t.Virtual += o.Virtual
	t.Events += o.Events
	t.Messages += o.Messages
	t.Grants += o.Grants
	t.Truncated += o.Truncated
	for len(t.Ranks) < len(o.Ranks) {
		t.Ranks = append(t.Ranks, Rank{})
	}
	for i := range o.Ranks {
		t.Ranks[i].merge(&o.Ranks[i])
	}
	t.Wait.Merge(&o.Wait)
	t.Handoff.Merge(&o.Handoff)
}

// Jain is Jain's index of how even the peers that wanted the lock were served: 1 is
// even, 1/n is all for one. 0 if nobody was served.
func (t *Totals) Jain() float64 {
	sum, squares, n := 0.0, 0.0, 0.0
	for i := range t.Ranks {
		r := &t.Ranks[i]
		if r.Grants+r.GiveUps == 0 {
			continue
		}
		g := float64(r.Grants)
		sum, squares, n = sum+g, squares+g*g, n+1
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (n * squares)
}

// MaxBypass is the most grants to others that any peer waited for in one turn.
func (t *Totals) MaxBypass() (most uint64) {
	for i := range t.Ranks {
		most = max(most, t.Ranks[i].MaxBypass)
	}
	return most
}

// PerGrant is how many messages a grant took.
func (t *Totals) PerGrant() float64 { return perGrant(t.Messages, t.Grants) }

func perGrant(messages, grants uint64) float64 {
	if grants == 0 {
		return 0
	}
	return float64(messages) / float64(grants)
}
