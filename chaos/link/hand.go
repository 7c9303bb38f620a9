package link

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"locklab/chaos/toxic"
	"locklab/locks/clock"
)

// Opened is a link as it is now.
type Opened struct {
	Spec
	Addr   string       `json:"addr"` // that the host's programs dial
	Active []Impairment `json:"active"`
}

// Hand is an impairment that somebody put on a link by hand, in times of the host's
// clock.Mono.
type Hand struct {
	Impairment Impairment `json:"impairment"`
	ToHost     string     `json:"to_host"`
	BeganNS    int64      `json:"began_ns"`
	EndedNS    int64      `json:"ended_ns,omitzero"` // 0 if it was in force when this was asked
}

// What says in a few words what was done: which toxic was put on which way, or that the link
// was taken down.
func (h Hand) What() string {
	if i := h.Impairment; i.ID != downID(i.Link) {
		return fmt.Sprintf("%s, %s", toxic.TypeOf(i.Effect), i.Direction)
	}
	return "taken down"
}

// Opened lists the links, by name. Those of probes are not the user's.
func (h *Host) Opened() (all []Opened) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.data() {
		all = append(all, Opened{l.spec, l.gate.addr, h.on(l.spec)})
	}
	return all
}

// data are the links of the workload, by name. The caller holds mu.
func (h *Host) data() []*link {
	all := slices.DeleteFunc(slices.Collect(maps.Values(h.links)), func(l *link) bool { return l.spec.isProbe() })
	slices.SortFunc(all, func(a, b *link) int { return cmp.Compare(a.spec.Name, b.spec.Name) })
	return all
}

// Hand lists what was put on the links by hand since the host was made or cleared, also
// what was taken off again.
func (h *Host) Hand() []Hand {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.hand)
}

// noteHand remembers an impairment that is about to be put on by hand. The caller holds mu.
func (h *Host) noteHand(i Impairment) {
	if !i.ByHand {
		return
	}
	to := ""
	if l := h.links[i.Link]; l != nil {
		to = l.spec.ToHost
	}
	h.hand = append(h.hand, Hand{Impairment: i, ToHost: to, BeganNS: clock.Mono()})
}

// endHand remembers that it was taken off. The caller holds mu.
func (h *Host) endHand(id string) {
	for n := range h.hand {
		if h.hand[n].Impairment.ID == id && h.hand[n].EndedNS == 0 {
			h.hand[n].EndedNS = clock.Mono()
		}
	}
}
