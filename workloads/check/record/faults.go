package record

import (
	"cmp"
	"slices"
	"strings"

	"locklab/workloads/history"
)

// addFault collects the entries of one fault of the ledger.
func (s *scribe) addFault(e *history.Event) {
	r := s.run
	i := slices.IndexFunc(r.Faults, func(f Fault) bool { return f.ID == e.ID })
	if i < 0 {
		i = len(r.Faults)
		r.Faults = append(r.Faults, Fault{ID: e.ID, Asked: Never, Began: Never, Heal: Never, Ended: Never, Proven: true})
	}
	f := &r.Faults[i]
	f.Kind, f.Target = cmp.Or(f.Kind, e.Fault), cmp.Or(f.Target, e.Target)
	if e.State == "kept-away" {
		f.KeptNS = e.DelayNS
		return
	}
	f.From, f.To, f.Nodes = both(f.From, e.From), both(f.To, e.To), both(f.Nodes, e.Nodes)
	switch e.State {
	case "asked":
		f.Asked = min(f.Asked, e.AtNS)
	case "began":
		f.Began = min(f.Began, e.AtNS)
	case "heal-asked":
		f.Heal = min(f.Heal, e.AtNS)
	case "ended":
		f.Ended = min(f.Ended, e.AtNS)
	case "away":
		f.Away = true
	case "unproven":
		f.Proven, f.Why = false, cmp.Or(f.Why, e.Error)
	}
}

// both adds to a list what it does not have.
func both(list, more []string) []string {
	for _, name := range more {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// settleFaults says which faults were proven: seen to begin, to end if they were to end, in
// force in the measured part, and to have hit the holder that they were aimed at.
func (s *scribe) settleFaults() {
	r := s.run
	for i := range r.Faults {
		f := &r.Faults[i]
		f.Proven = f.Proven && f.Began < Never && (f.Heal == Never || f.Ended < Never || f.Away)
		if !f.Proven || f.Asked == Never {
			continue
		}
		switch {
		case r.Measure < r.Drain && (f.Began >= r.Drain || max(f.Heal, f.Began+1) <= r.Measure):
			f.Proven, f.Why = false, "not in force in the measured part"
		case s.missed(f):
			f.Proven, f.Why = false, "it hit no holder"
		}
	}
	slices.SortStableFunc(r.Faults, func(a, b Fault) int { return cmp.Compare(min(a.Asked, a.Began), min(b.Asked, b.Began)) })
}

// Stops says that the kind of fault has processes stand still, or end.
func (f *Fault) Stops() bool {
	return slices.Contains([]string{"kill", "pause", "restart", "zone-failure"}, f.Kind)
}

// missed says that a fault that was aimed at a holder, or at a point of a client's work, hit
// another: no node held when it was cut off or stood still, or had come to the point by then.
func (s *scribe) missed(f *Fault) bool {
	_, rest, aimed := strings.Cut(f.Target, history.TargetAt)
	work, _, _ := strings.Cut(rest, " ")
	target, _, _ := strings.Cut(f.Target, " ")
	kind, resource, of := strings.Cut(target, ":")
	holder := kind == history.TargetHolder && !of || kind == history.TargetHolderOf && of
	if !aimed && (!holder || !f.Stops() && len(f.From) == 0) {
		return false
	}
	for i := range s.run.Nodes {
		n, hit := &s.run.Nodes[i], f.Began
		switch {
		case slices.Contains(f.Nodes, s.list[n.Name]):
			stood := slices.IndexFunc(n.Away, func(away Span) bool { return away.From >= f.Asked })
			if stood < 0 {
				continue
			}
			hit = n.Away[stood].From
		case len(f.Nodes) > 0 || !slices.Contains(f.From, n.Host):
			continue
		}
		if aimed && slices.ContainsFunc(s.points, func(p point) bool {
			return p.node == n.Name && p.point == work && p.at >= f.Asked && p.at <= hit
		}) || !aimed && slices.ContainsFunc(s.run.Acquires, func(a Acquire) bool {
			return a.Node == n.Name && (resource == "" || s.list[a.Resource] == resource) && a.Granted() && a.At <= hit && min(a.Stopped, a.Lost) >= hit
		}) {
			return false
		}
	}
	return true
}
