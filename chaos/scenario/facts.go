package scenario

import (
	"cmp"
	"slices"
	"time"

	"locklab/chaos/fault"
	"locklab/locks"
)

// Lock is what rules must know of a lock and of its nodes.
type Lock struct {
	Spec   locks.Spec
	Traits locks.Traits
	// Waits says that a server which lost its data stays away until its grants have expired.
	Waits bool
	// Lease is how long a grant lasts at most: 0 if it has none, longer than any run if only its release ends it.
	// Measured is the run's measured part.
	Lease, Measured time.Duration
	// Clients request the lock, and Deciders have to agree: all, a majority, or one.
	Clients, Deciders []fault.Node
	// Replicas may replace the decider, if Watchers say so.
	Replicas, Watchers []fault.Node
}

// The words of facts that are computed here.
const (
	none       = "none"
	leftAll    = "all"     // a client reaches all deciders
	leftEnough = "enough"  // a client reaches enough of them to agree
	leftTooFew = "too-few" // no client does
)

// damage is what all faults of a scenario do together.
type damage struct {
	stopped, crashed, restarted []string // nodes: hit by any fault; killed; killed and started again at once
	soon                        []string // killed nodes that are back before their grants expire
	wiped, paused, clocks       []string
	pairs                       []fault.Pair
	kinds                       []string
	modes                       []string
	target                      string
}

func (l Lock) damageOf(plans []Planned) (d damage) {
	d.target = "other"
	for _, p := range plans {
		f := p.Step.Fault
		if !slices.Contains(d.kinds, f.Kind) {
			d.kinds = append(d.kinds, f.Kind)
		}
		d.target = cmp.Or(f.Aim.At, d.target)
		dead := slices.Concat(p.Kill, p.Lost)
		d.stopped = slices.Concat(d.stopped, p.Nodes())
		d.crashed = append(d.crashed, dead...)
		switch lasts := p.Step.For; {
		case f.Instant:
			d.restarted = append(d.restarted, dead...)
		case lasts != (Moment{}) && lasts.Of(l.Measured) < l.Lease:
			d.soon = append(d.soon, dead...)
		}
		d.wiped, d.paused, d.clocks = append(d.wiped, p.Wipe...), append(d.paused, p.Pause...), append(d.clocks, p.Clocks...)
		if f.Cut != "" {
			d.pairs, d.modes = append(d.pairs, p.Pairs...), append(d.modes, f.Cut)
		}
	}
	if len(plans) == 0 {
		d.kinds = []string{none}
	}
	return d
}

// reach says whether traffic between two nodes passes both ways.
func (d damage) reach(a, b fault.Node) bool {
	return !slices.Contains(d.pairs, fault.Pair{From: a.Host, To: b.Host}) &&
		!slices.Contains(d.pairs, fault.Pair{From: b.Host, To: a.Host})
}

// facts returns the words that hold for the lock, by condition.
func (l Lock) facts(plans []Planned) map[string][]string {
	d, is := l.damageOf(plans), traitsOf(l.Traits)
	is["fault"] = d.kinds
	for fact, word := range map[string]string{
		"target": d.target, "left": l.left(d), "cut": l.cut(d), "clients": l.clients(d), "restarted": l.restarted(d),
		"failover": l.failover(d), "masters": map[bool]string{true: "one", false: "more"}[len(l.Clients) == 1],
	} {
		is[fact] = []string{word}
	}
	return is
}

// traitsOf are the facts that no fault changes.
func traitsOf(t locks.Traits) map[string][]string {
	word := func(w string) []string { return []string{cmp.Or(w, none)} }
	return map[string][]string{
		"agree": word(t.Agree), "lease": word(t.Lease), "keeps": word(t.Keeps),
		"replica": word(t.Replica),
	}
}

// left says how many deciders the best placed client reaches or, if no client lives, how many are up.
func (l Lock) left(d damage) string {
	reached := func(by func(fault.Node) bool) (n int) {
		for _, decider := range l.Deciders {
			if !slices.Contains(d.stopped, decider.Name) && by(decider) {
				n++
			}
		}
		return n
	}
	best, alive := 0, false
	for _, client := range l.Clients {
		if !slices.Contains(d.crashed, client.Name) && !slices.Contains(d.paused, client.Name) {
			best, alive = max(best, reached(func(n fault.Node) bool { return d.reach(client, n) })), true
		}
	}
	if !alive {
		best = reached(func(fault.Node) bool { return true })
	}
	enough := len(l.Deciders)/2 + 1
	switch l.Traits.Agree {
	case locks.AgreeAll:
		enough = len(l.Deciders)
	case locks.AgreeConnected:
		enough = min(1, len(l.Deciders))
	}
	switch {
	case best == len(l.Deciders):
		return leftAll
	case best >= enough:
		return leftEnough
	default:
		return leftTooFew
	}
}

// cut is the worst way in which traffic between the lock's nodes is cut.
func (l Lock) cut(d damage) string {
	nodes := slices.Concat(l.Clients, l.Deciders, l.Replicas, l.Watchers)
	if len(l.Deciders) == 0 {
		return none
	}
	cut := slices.ContainsFunc(nodes, func(a fault.Node) bool {
		return slices.ContainsFunc(nodes, func(b fault.Node) bool { return !d.reach(a, b) })
	})
	for _, mode := range fault.Cuts() {
		if cut && slices.Contains(d.modes, mode) {
			return mode
		}
	}
	return none
}

// clients is what faults do to any client; of several, the first listed here.
func (l Lock) clients(d damage) string {
	hits := func(nodes []string) bool {
		return slices.ContainsFunc(l.Clients, func(n fault.Node) bool { return slices.Contains(nodes, n.Name) })
	}
	switch {
	case hits(d.paused):
		return "paused"
	case hits(d.clocks):
		return "clock"
	case hits(d.crashed):
		return "killed"
	default:
		return none
	}
}

// restarted says whether deciders or replicas are back before their grants expire.
func (l Lock) restarted(d damage) string {
	word := none
	for _, n := range slices.Concat(l.Deciders, l.Replicas) {
		waits := l.Waits && slices.Contains(d.wiped, n.Name)
		switch instant := slices.Contains(d.restarted, n.Name); {
		case instant && !waits:
			return "at-once"
		case !waits && slices.Contains(d.soon, n.Name):
			word = "within-a-lease"
		case instant && word == none:
			word = "after-a-lease"
		}
	}
	return word
}

// failover is possible if a majority of watchers can lose the decider and reach a replica.
func (l Lock) failover(d damage) string {
	for _, replica := range l.Replicas {
		votes := 0
		for _, w := range l.Watchers {
			gone := slices.ContainsFunc(l.Deciders,
				func(n fault.Node) bool { return slices.Contains(d.stopped, n.Name) || !d.reach(w, n) })
			there := !slices.Contains(d.stopped, replica.Name) || slices.Contains(d.restarted, replica.Name)
			if gone && there && d.reach(w, replica) && !slices.Contains(d.stopped, w.Name) {
				votes++
			}
		}
		if votes > len(l.Watchers)/2 {
			return "possible"
		}
	}
	return none
}
