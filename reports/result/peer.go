package result

import (
	"fmt"
	"slices"
)

// Peer is how one peer, a master with its clients, fared over all repeats. A wait
// lasts from asking to holding; those that ended without the lock, or were open when
// the measured part ended, count with the length that they had.
type Peer struct {
	Node     string     `json:"node"`
	Zone     string     `json:"zone,omitempty"`
	Rank     *int       `json:"rank,omitempty"` // the priority for locks that have one; 0 is the highest
	Acquires int64      `json:"acquires"`
	GaveUp   int64      `json:"gave_up"` // waits that ended without the lock
	WaitMS   *Quantiles `json:"wait_ms,omitempty"`

	// Bypasses of one wait: grants of the resource to other peers meanwhile.
	BypassMax  int64   `json:"bypass_max"`
	BypassMean float64 `json:"bypass_mean"`
	// BypassInARowMax is the most of them without a grant to this peer in between.
	BypassInARowMax int64 `json:"bypass_in_a_row_max"`
}

func validatePeers(peers []Peer) error {
	for i, p := range peers {
		field := fmt.Sprintf("peers[%d].", i)
		switch q := p.WaitMS; {
		case p.BypassInARowMax > p.BypassMax:
			return invalid(field+"bypass_in_a_row_max", p.BypassInARowMax, fmt.Sprintf("at most bypass_max, %d", p.BypassMax))
		case q != nil && !slices.IsSorted([]float64{q.P50, q.P99, q.P999, q.Max}):
			return invalid(field+"wait_ms", *q, "quantiles that rise")
		}
	}
	return nil
}
