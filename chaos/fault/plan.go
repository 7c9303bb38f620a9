package fault

import (
	"context"
	"slices"
	"time"

	"locklab/chaos/link"
)

// Evidence is how the probes can tell that a fault of links is on.
type Evidence int

// The kinds of evidence.
const (
	None   Evidence = iota // no link is hit
	Silent                 // nothing of Pairs arrives any more
	Slower                 // round trips take longer, by Shift per direction
	Stalls                 // some round trips take longer, by Shift
	Away                   // the hosts of Gone do not answer, neither probes nor the controller
)

// Pair is the traffic from one host to another.
type Pair struct{ From, To string }

// Plan is what has to be done to begin a fault.
type Plan struct {
	// Links are the impairments to apply, by the host whose links they hit.
	Links map[string][]link.Impairment
	// Pairs are the ordered pairs of hosts whose traffic is hit.
	Pairs []Pair
	// From and To are the same as two lists, as histories have it.
	From, To []string
	Evidence Evidence
	Shift    time.Duration

	Kill  []string // nodes
	Pause []string
	// Wipe are the killed nodes that come back without their data.
	Wipe []string

	// External are the words of an external fault: others begin and end it.
	External []string
	// Gone are the hosts that it stops, and Lost the nodes that go with them.
	Gone, Lost []string
}

// Nodes are the nodes that the plan hits.
func (p Plan) Nodes() []string { return slices.Concat(p.Kill, p.Pause, p.Lost) }

// Make plans a fault for the inventory as it is now. id must be unique in the run.
func Make(ctx context.Context, id string, s Spec, inv Inventory, resolver Resolver) (Plan, error) {
	k, err := Find(s.Kind)
	if err != nil {
		return Plan{}, err
	}
	return k.plan(ctx, id, s, scene{inv, resolver})
}

// scene is what plans are made from.
type scene struct {
	Inventory
	resolver Resolver
}

// linksFault plans an impairment of the traffic that the spec's sides name. The
// impairment's ID, hosts and direction are filled in.
func (sc scene) linksFault(id string, s Spec, i link.Impairment, e Evidence, shift time.Duration) (Plan, error) {
	from, to, pairs, err := sc.pairs(s)
	if err != nil {
		return Plan{}, err
	}
	return Plan{
		Links: impairments(id, i, pairs), Pairs: pairs, From: from, To: to, Evidence: e, Shift: shift,
	}, nil
}

// pairs are the ordered host pairs whose traffic the spec names.
func (sc scene) pairs(s Spec) (from, to []string, pairs []Pair, err error) {
	if len(s.Between) == 1 { // zones
		for _, h := range sc.Hosts {
			from = append(from, h.Name)
		}
		to = from
	} else {
		one, other := s.From, s.To
		if len(s.Between) == 2 {
			one, other = s.Between[0], s.Between[1]
		}
		if from, to, err = sc.twoSides(one, other); err != nil {
			return nil, nil, nil, err
		}
	}
	add := func(p Pair) {
		if p.From != p.To && !slices.Contains(pairs, p) && (len(s.Between) != 1 || sc.zone(p.From) != sc.zone(p.To)) {
			pairs = append(pairs, p)
		}
	}
	for _, x := range from {
		for _, y := range to {
			add(Pair{x, y})
			if len(s.Between) == 2 {
				add(Pair{y, x})
			}
		}
	}
	if len(pairs) == 0 {
		return nil, nil, nil, ErrNoTarget
	}
	return from, to, pairs, nil
}

func (sc scene) twoSides(one, other string) (from, to []string, err error) {
	if one == Others {
		to, from, err = sc.twoSides(other, one)
		return from, to, err
	}
	if from, err = sc.hosts(one); err != nil {
		return nil, nil, err
	}
	if other == Others {
		to, err = sc.others(from)
	} else {
		to, err = sc.hosts(other)
	}
	return from, to, err
}

// impairments lay an impairment of traffic on the links that carry it.
func impairments(id string, i link.Impairment, pairs []Pair) map[string][]link.Impairment {
	ways := map[Pair]map[link.Direction]bool{} // dialing host, host of the node
	hit := func(p Pair, way link.Direction) {
		if ways[p] == nil {
			ways[p] = map[link.Direction]bool{}
		}
		ways[p][way] = true
	}
	for _, p := range pairs {
		hit(p, link.Up)
		hit(Pair{p.To, p.From}, link.Down)
	}
	byHost := map[string][]link.Impairment{}
	for p, w := range ways {
		direction := link.Both
		if len(w) == 1 && i.Kind != link.Reset { // a reset has no direction
			direction = link.Up
			if w[link.Down] {
				direction = link.Down
			}
		}
		list := byHost[p.From]
		n := slices.IndexFunc(list, func(j link.Impairment) bool { return j.Direction == direction })
		if n < 0 {
			j := i
			j.ID, j.Direction, j.ToHosts = id+"/"+string(direction), direction, nil
			list, n = append(list, j), len(list)
		}
		list[n].ToHosts = append(list[n].ToHosts, p.To)
		slices.Sort(list[n].ToHosts)
		byHost[p.From] = list
	}
	return byHost
}

// wiped are those of the nodes whose role loses its data.
func (sc scene) wiped(nodes, roles []string) []string {
	var found []string
	for _, n := range nodes {
		if slices.Contains(roles, sc.role(n)) {
			found = append(found, n)
		}
	}
	return found
}
