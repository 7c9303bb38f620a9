package fault

import (
	"context"
	"fmt"
	"slices"
	"time"

	"locklab/chaos/link"
	"locklab/chaos/toxic"
	"locklab/internal/damage"
	"locklab/workloads/history"
)

// Pair is the traffic from one host to another.
type Pair struct{ From, To string }

// Plan is what has to be done to begin a fault, and what shows that it is there.
type Plan struct {
	// Links are the impairments to apply, by the host whose links they hit.
	Links map[string][]link.Impairment
	// Pairs are the ordered pairs of hosts whose traffic is hit.
	Pairs []Pair
	// From and To are the same as two lists, as histories have it.
	From, To []string
	Aim      history.Aim // with the node that it found
	Proof    Proof       // nil: no link is hit

	Kill  []string // nodes
	Pause []string
	// Point is where in their work they are to stand still, "" anywhere.
	Point string
	// Wipe are the killed nodes that come back without their data.
	Wipe []string

	// Cut are the killed nodes whose disks lose what was not synced, as Power says.
	Cut   []string
	Power damage.Power

	// Clocks are the nodes whose wall clock is set wrong by Step, and whose clock runs at Rate
	// then; 0 is the right one.
	Clocks []string
	Step   time.Duration
	Rate   float64

	// Disks are the nodes whose disk becomes as Disk says.
	Disks []string
	Disk  damage.Disk

	// External are the words of an external fault: others begin and end it.
	External []string
	// Gone are the hosts that it stops, and Lost the nodes that go with them.
	Gone, Lost []string
}

// Nodes are the nodes that the plan hits.
func (p Plan) Nodes() []string { return slices.Concat(p.Kill, p.Pause, p.Clocks, p.Disks, p.Lost) }

// Restarted are the nodes that are started again when the fault is over: one that could not write may be
// about to end, seconds later even, or has ended, and what it had promised must be on disk.
func (p Plan) Restarted() []string {
	if p.Disk.Full {
		return slices.Concat(p.Kill, p.Disks)
	}
	return p.Kill
}

// planner makes a plan of what a kind read.
type planner func(ctx context.Context, id string, sc scene) (Plan, error)

// onLinks is a fault of the traffic between two sides.
func onLinks(s sides, effect toxic.Effect, proof Proof) Fault {
	return Fault{
		Target: s.String(), Aim: s.aim(),
		plan: func(ctx context.Context, id string, sc scene) (_ Plan, err error) {
			now := s
			if now.from, err = sc.resolve(ctx, s.from); err != nil {
				return Plan{}, err
			}
			if now.to, err = sc.resolve(ctx, s.to); err != nil {
				return Plan{}, err
			}
			p, err := sc.pairs(now)
			p.Links, p.Proof = impairments(id, effect, p.Pairs), proof
			return p, err
		},
	}
}

// onNodes is a fault of processes: hit plans what happens to those that the target means.
func onNodes(target selector, hit func(sc scene, found []string) (Plan, error)) Fault {
	return Fault{
		Target: target.String(), Aim: target.aim(),
		plan: func(ctx context.Context, _ string, sc scene) (Plan, error) {
			found, err := sc.nodes(ctx, target)
			if err != nil {
				return Plan{}, err
			}
			return hit(sc, found)
		},
	}
}

// pairs are the ordered host pairs whose traffic goes between the sides.
func (sc scene) pairs(s sides) (p Plan, err error) {
	if s.from.kind == Zones {
		for _, h := range sc.Hosts {
			p.From = append(p.From, h.Name)
		}
		p.To = p.From
	} else if p.From, p.To, err = sc.twoSides(s.from, s.to); err != nil {
		return Plan{}, err
	}
	add := func(pair Pair) {
		if pair.From != pair.To && !slices.Contains(p.Pairs, pair) &&
			(s.from.kind != Zones || sc.zone(pair.From) != sc.zone(pair.To)) {
			p.Pairs = append(p.Pairs, pair)
		}
	}
	for _, x := range p.From {
		for _, y := range p.To {
			add(Pair{x, y})
			if s.both {
				add(Pair{y, x})
			}
		}
	}
	if len(p.Pairs) == 0 {
		return Plan{}, fmt.Errorf("nothing is between the two sides, as there is no other host: %w", ErrNoTarget)
	}
	return p, nil
}

// twoSides are the hosts of both; where one is others and there are none, none is left.
func (sc scene) twoSides(one, other selector) (from, to []string, err error) {
	if one.kind == Others {
		to, from, err = sc.twoSides(other, one)
		return from, to, err
	}
	if from, err = sc.hosts(one); err == nil && other.kind != Others {
		to, err = sc.hosts(other)
		return from, to, err
	}
	return from, sc.others(from), err
}

// impairments lay an effect on traffic on the links that carry it.
func impairments(id string, effect toxic.Effect, pairs []Pair) map[string][]link.Impairment {
	ways := map[Pair][]link.Direction{} // dialing host, host of the node
	for _, p := range pairs {
		back := Pair{p.To, p.From}
		ways[p], ways[back] = append(ways[p], link.Up), append(ways[back], link.Down)
	}
	byHost := map[string][]link.Impairment{}
	for p, w := range ways {
		direction := w[0]
		if _, reset := effect.(*toxic.Reset); reset || len(w) == 2 { // a reset has no direction
			direction = link.Both
		}
		list := byHost[p.From]
		n := slices.IndexFunc(list, func(j link.Impairment) bool { return j.Direction == direction })
		if n < 0 {
			n = len(list)
			list = append(list, link.Impairment{ID: id + "/" + string(direction), Direction: direction, Effect: effect})
		}
		list[n].ToHosts = append(list[n].ToHosts, p.To)
		slices.Sort(list[n].ToHosts)
		byHost[p.From] = list
	}
	return byHost
}
