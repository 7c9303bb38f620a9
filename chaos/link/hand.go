package link

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"locklab/chaos/toxic"
)

// Opened is a link as it is now.
type Opened struct {
	Spec
	Addr   string       `json:"addr"` // that the host's programs dial
	Active []Impairment `json:"active"`
}

// Done is an impairment that is in force, or was, in times of the host's clock.Mono.
type Done struct {
	Impairment Impairment `json:"impairment"`
	ToHost     string     `json:"to_host"` // of its link, if it is of one
	BeganNS    int64      `json:"began_ns"`
	EndedNS    int64      `json:"ended_ns,omitzero"` // 0 while it is in force

	contradicted string // kept, as healing may be asked for again
}

func (d *Done) over() bool { return d.EndedNS != 0 }

// What says in a few words what was done: which toxic was put on which way, or that the link
// was taken down.
func (d Done) What() string {
	if i := d.Impairment; i.ID != downID(i.Link) {
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
func (h *Host) Hand() (all []Done) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.log {
		if e.Impairment.byHand() {
			all = append(all, *e)
		}
	}
	return all
}
