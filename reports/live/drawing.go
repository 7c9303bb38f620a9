package live

import (
	"slices"
	"time"

	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/workloads/history"
)

// drawing is the map of the current run.
func (m *model) drawing(say *lang.Lang) plots.Map {
	var d plots.Map
	for _, z := range m.info.Zones {
		zone := plots.Zone{Name: z.Name}
		for _, h := range m.run.Hosts {
			if h.Zone != z.Short {
				continue
			}
			for _, n := range h.Nodes {
				zone.Nodes = append(zone.Nodes, m.node(say, h, n))
			}
		}
		slices.SortStableFunc(zone.Nodes, func(a, b plots.Node) int { return rank(a.Role) - rank(b.Role) })
		d.Zones = append(d.Zones, zone)
	}
	m.ways(say, &d)
	return d
}

// rank has masters first and workers last: between them is what the lock needs.
func rank(role string) int {
	switch role {
	case "master":
		return 0
	case "worker":
		return 2
	}
	return 1
}

func (m *model) node(say *lang.Lang, h Host, n Node) plots.Node {
	p := plots.Node{Name: n.Name, Host: h.Name, Role: n.Role, State: stateOf(m.nodes[n.Name])}
	switch n.Role {
	case "master":
		holds := 0
		for key := range m.holds {
			if key.node == n.Name {
				holds++
			}
		}
		p.Note = say.Count(int64(holds), "holds 1", "holds %s")
		if waits, known := m.waiting[n.Name]; known && waits > 0 {
			p.Note += "\n" + say.Count(int64(waits), "1 waits", "%s wait")
		}
	case "worker":
		for _, r := range m.rooms.of(n.Name) {
			first := r.events[0]
			title, cause := first.Resource+": "+roomWord(say, r.state), ""
			if r.duplicate {
				cause = map[bool]string{false: "duplicate", true: "unreachable"}[r.excused]
				title += ", " + say.Term(cause)
			}
			p.Rooms = append(p.Rooms, plots.Room{State: r.state, Cause: cause, Title: title})
		}
		p.Note = say.Count(int64(len(p.Rooms)), "1 room", "%s rooms")
	default:
		p.Note = n.Role
	}
	return p
}

// roomWord is how a room is.
func roomWord(say *lang.Lang, state string) string {
	switch state {
	case "starting":
		return say.Text("is starting")
	case "open":
		return say.Text("has free seats")
	case "full":
		return say.Text("is full")
	default:
		return say.Text("is closed")
	}
}

func stateOf(state string) plots.State {
	switch state {
	case "":
		return plots.Away
	case history.NodeStarted:
		return plots.Starting
	case history.NodePaused, history.NodeSuspended:
		return plots.Paused
	case history.NodeStopped:
		return plots.Away
	}
	if history.NodeEnds(state) {
		return plots.Dead
	}
	return plots.Up
}

// ways tells the links that are as those between their zones from those that are not.
func (m *model) ways(say *lang.Lang, d *plots.Map) {
	zoneOf := map[string]string{}
	for _, h := range m.run.Hosts {
		zoneOf[h.Name] = h.Zone
	}
	type way struct {
		links, hit int
		state      linkState
		rtt        time.Duration
	}
	zones := map[[2]string]*way{}
	states := map[[2]string]linkState{}
	for _, l := range m.run.Links {
		d.Dials = append(d.Dials, [2]string{l.From, l.To})
		for _, pair := range [][2]string{{l.From, l.To}, {l.To, l.From}} { // what is dialed one way carries answers the other
			state := m.link(pair[0], pair[1])
			states[pair] = state
			between := [2]string{zoneOf[pair[0]], zoneOf[pair[1]]}
			w := zones[between]
			if w == nil {
				w = &way{rtt: l.RTT}
				zones[between] = w
			}
			w.links++
			if len(state.kinds) > 0 {
				w.hit++
				w.state = state
			}
		}
	}
	for i, from := range m.info.Zones {
		for _, to := range m.info.Zones {
			w := zones[[2]string{from.Short, to.Short}]
			switch {
			case w == nil:
			case from == to:
				d.Zones[i].Note = say.Sprintf("inside %s", delayText(say, w.rtt/2))
			case w.hit == w.links:
				d.Between = append(d.Between, wayOf(say, from.Name, to.Name, w.state, w.rtt))
			default:
				d.Between = append(d.Between, wayOf(say, from.Name, to.Name, linkState{}, w.rtt))
			}
		}
	}
	for _, l := range m.run.Links {
		for _, pair := range [][2]string{{l.From, l.To}, {l.To, l.From}} {
			w := zones[[2]string{zoneOf[pair[0]], zoneOf[pair[1]]}]
			if state := states[pair]; len(state.kinds) > 0 && (w.hit < w.links || zoneOf[pair[0]] == zoneOf[pair[1]]) {
				one := wayOf(say, pair[0], pair[1], state, l.RTT)
				if !slices.Contains(d.Links, one) {
					d.Links = append(d.Links, one)
				}
			}
		}
	}
}

func wayOf(say *lang.Lang, from, to string, state linkState, rtt time.Duration) plots.Way {
	w := plots.Way{From: from, To: to, Cut: state.cut(), Slow: len(state.kinds) > 0 && !state.cut()}
	switch {
	case w.Cut:
		w.Note = say.Text("cut")
	case state.delayNS > 0:
		w.Note = say.Sprintf("%s more", delayText(say, time.Duration(state.delayNS)))
	case w.Slow:
		w.Note = state.kinds[0]
	default:
		w.Note = delayText(say, rtt/2)
	}
	return w
}

func delayText(say *lang.Lang, d time.Duration) string {
	return say.Sprintf("%.3g ms", inMS(int64(d)))
}
