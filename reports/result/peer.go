package result

import "fmt"

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

// validatePeers checks the peers of one row.
func validatePeers(peers []Peer) error {
	seen := make(map[string]bool, len(peers))
	for i, p := range peers {
		field := fmt.Sprintf("peers[%d].", i)
		if p.Node == "" || seen[p.Node] {
			return invalid(field+"node", p.Node, "the name of a master, each once")
		}
		seen[p.Node] = true
		for _, n := range p.counts() {
			if n.value < 0 {
				return invalid(field+n.field, n.value, "0 or more")
			}
		}
		if p.BypassInARowMax > p.BypassMax {
			return invalid(field+"bypass_in_a_row_max", p.BypassInARowMax, fmt.Sprintf("at most bypass_max, %d", p.BypassMax))
		}
	}
	return nil
}

// whole is a count of a peer and its name in the file.
type whole struct {
	field string
	value int64
}

func (p *Peer) counts() []whole {
	all := []whole{
		{"acquires", p.Acquires},
		{"gave_up", p.GaveUp},
		{"bypass_max", p.BypassMax},
		{"bypass_in_a_row_max", p.BypassInARowMax},
	}
	if p.Rank != nil {
		all = append(all, whole{"rank", int64(*p.Rank)})
	}
	return all
}

// numbers lists the floating-point figures of the peer.
func (p *Peer) numbers(prefix string) []number {
	mean := number{prefix + "bypass_mean", &p.BypassMean, func() { p.BypassMean = 0 }}
	return append([]number{mean}, quantileNumbers(prefix+"wait_ms", &p.WaitMS)...)
}
