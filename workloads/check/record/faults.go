package record

import (
	"cmp"
	"math"
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
	f.DelayNS = max(f.DelayNS, e.DelayNS)
	for _, l := range []struct {
		into *[]string
		more []string
	}{{&f.From, e.From}, {&f.To, e.To}, {&f.Nodes, e.Nodes}} {
		for _, name := range l.more {
			if !slices.Contains(*l.into, name) {
				*l.into = append(*l.into, name)
			}
		}
	}
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
		until := int64(Never)
		if f.Heal < Never {
			until = max(f.Heal, f.Began+1)
		}
		if r.Measure < r.Drain && (f.Began >= r.Drain || until <= r.Measure) {
			f.Proven, f.Why = false, "not in force in the measured part"
		} else if why := s.missed(f); why != "" {
			f.Proven, f.Why = false, why
		}
	}
	slices.SortStableFunc(r.Faults, func(a, b Fault) int { return cmp.Compare(min(a.Asked, a.Began), min(b.Asked, b.Began)) })
}

// Stops says that the kind of fault has processes stand still, or end.
func (f *Fault) Stops() bool {
	return slices.Contains([]string{"kill", "pause", "restart", "zone-failure"}, f.Kind)
}

// missed says that a fault that was aimed at a holder, or at a point of a client's work, hit
// another. A holder that is stopped must have held from before that until it went on; one that
// is killed must not have begun to release; one that is cut off must have held when it was.
func (s *scribe) missed(f *Fault) string {
	_, rest, at := strings.Cut(f.Target, history.TargetAt)
	work, _, _ := strings.Cut(rest, " ")
	if at {
		return s.missedPoint(f, work)
	}
	target, _, _ := strings.Cut(f.Target, " ")
	kind, resource, of := strings.Cut(target, ":")
	aimed := kind == history.TargetHolder && !of || kind == history.TargetHolderOf && of
	if !aimed || !f.Stops() && len(f.From) == 0 {
		return ""
	}
	for i := range s.run.Nodes {
		n := &s.run.Nodes[i]
		hit := Span{f.Began, f.Began}
		switch {
		case slices.Contains(f.Nodes, s.list[n.Name]):
			hit = n.hitTime(f.Asked, s.run.End)
		case len(f.Nodes) > 0 || !slices.Contains(f.From, n.Host):
			continue
		}
		if slices.ContainsFunc(s.run.Acquires, func(a Acquire) bool {
			return a.Node == n.Name && (resource == "" || s.list[a.Resource] == resource) && a.Granted() && a.At <= hit.From && min(a.Stopped, a.Lost) >= hit.To
		}) {
			return ""
		}
	}
	return "no hold was hit"
}

// missedPoint names a node that did not come to the point of its work before it stood still.
func (s *scribe) missedPoint(f *Fault, work string) string {
	for _, name := range f.Nodes {
		node, _ := s.find(name)
		hit := s.run.Node(node).hitTime(f.Asked, s.run.End)
		if !slices.ContainsFunc(s.points, func(p point) bool {
			return p.node == name && p.point == work && p.at >= f.Asked && p.at <= hit.From
		}) {
			return brief(name) + " was not stopped at the point " + brief(work)
		}
	}
	return ""
}

// hitTime is from when a node stood still, after it was asked to, until it may have gone on;
// for ever if it was killed.
func (n *Node) hitTime(asked, end int64) Span {
	hit := Span{math.MinInt64, Never} // nothing is old enough to be hit then
	if n == nil {
		return hit
	}
	for _, e := range n.Events {
		switch {
		case e.At < asked:
		case e.State == history.NodeKilled:
			return Span{e.At, Never}
		case e.State == history.NodePaused && hit.From == math.MinInt64:
			hit = Span{e.At, end} // where it stood still to the end
		case e.State == history.NodeResumed && hit.From != math.MinInt64:
			return Span{hit.From, cmp.Or(e.Asked, e.At)}
		}
	}
	return hit
}
