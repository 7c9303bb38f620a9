package live

import (
	"fmt"
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
				zone.Nodes = append(zone.Nodes, m.node(say, n))
			}
		}
		slices.SortStableFunc(zone.Nodes, func(a, b plots.Node) int { return rank(a.Role) - rank(b.Role) })
		d.Zones = append(d.Zones, zone)
	}
	m.ways(say, &d)
	return d
}

// rank sorts masters first, then the lock's servers, and workers last.
func rank(role string) int {
	switch role {
	case "master":
		return 0
	case "worker":
		return 2
	}
	return 1
}

func (m *model) node(say *lang.Lang, n Node) plots.Node {
	p := plots.Node{Name: n.Name, Role: n.Role, Note: n.Role}
	p.Class, p.State = stateOf(say, m.nodes[n.Name])
	switch n.Role {
	case "master":
		holds := 0
		for key, goesOn := range m.holds {
			if goesOn && key.node == n.Name {
				holds++
			}
		}
		p.Note = say.Sprintf("holds %d", holds)
	case "worker":
		for _, r := range m.rooms.of(n.Name) {
			class, title := r.state, r.events[0].Resource+": "+roomWord(say, r.state)
			d, duplicate := m.rooms.found[r.events[0].Room]
			if duplicate {
				class, title = class+" duplicate", title+", "+say.Text("duplicates")
			}
			if d.Unreachable {
				class, title = class+" unreachable", title+", "+say.Text("unreachable")
			}
			p.Rooms = append(p.Rooms, plots.Room{Class: class, Crossed: duplicate, Title: title})
		}
		p.Note = say.Sprintf("rooms: %d", len(p.Rooms))
	}
	return p
}

// roomWord is the state of a room in words.
func roomWord(say *lang.Lang, state string) string {
	switch state {
	case history.RoomStarting:
		return say.Text("is starting")
	case history.RoomOpen:
		return say.Text("has free seats")
	default:
		return say.Text("is full")
	}
}

// stateOf is the state of a process as the page draws and says it.
func stateOf(say *lang.Lang, state string) (class, word string) {
	switch {
	case state == "" || state == history.NodeStopped:
		return "away", say.Text("is not running")
	case state == history.NodeStarted:
		return "starting", say.Text("is starting")
	case state == history.NodePaused:
		return "paused", say.Text("is paused")
	case history.NodeEnds(state):
		return "dead", say.Text("is dead")
	}
	return "up", say.Text("is up")
}

// traffic is the traffic from one host to another, with the faults that hit it.
type traffic struct {
	from, to string
	rtt      time.Duration
	hit, cut bool  // by any fault; by a cut
	delayNS  int64 // that all faults add
}

func (t traffic) way(say *lang.Lang) plots.Way {
	delay := func(d time.Duration) string { return fmt.Sprintf("%.3g ms", inMS(int64(d))) }
	w := plots.Way{From: t.from, To: t.to, Note: delay(t.rtt / 2)}
	switch {
	case t.cut:
		w.Cut, w.Note = true, say.Text("cut")
	case t.hit:
		w.Slow, w.Note = true, say.Sprintf("%s more", delay(time.Duration(t.delayNS)))
	}
	return w
}

// ways draws the traffic between and inside zones. If a fault hits only some links, it says how many.
func (m *model) ways(say *lang.Lang, d *plots.Map) {
	zones := map[string]string{} // of the hosts
	for _, h := range m.run.Hosts {
		zones[h.Name] = h.Zone
	}
	between := map[[2]string][]traffic{} // of zones
	for _, l := range m.run.Links {
		// Answers go the other way.
		for _, t := range []traffic{{from: l.From, to: l.To, rtt: l.RTT}, {from: l.To, to: l.From, rtt: l.RTT}} {
			m.hit(&t, zones[t.from] == zones[t.to])
			pair := [2]string{zones[t.from], zones[t.to]}
			between[pair] = append(between[pair], t)
		}
	}
	for i, from := range m.info.Zones {
		for _, to := range m.info.Zones {
			all := between[[2]string{from.Short, to.Short}]
			if len(all) == 0 {
				continue
			}
			whole, hit := traffic{from: from.Name, to: to.Name, rtt: all[0].rtt}, 0
			for _, t := range all {
				if t.hit {
					hit++
				}
			}
			if hit == len(all) {
				whole.hit, whole.cut, whole.delayNS = true, all[0].cut, all[0].delayNS
			}
			way := whole.way(say)
			if hit > 0 && hit < len(all) {
				way.Slow, way.Note = true, say.Sprintf("%d of %d links hit", hit, len(all))
			}
			if from == to {
				d.Zones[i].Note = say.Sprintf("inside %s", way.Note)
			} else {
				d.Between = append(d.Between, way)
			}
		}
	}
}

// hit adds the faults in force. A fault with the same hosts on both sides is between zones, and spares traffic
// inside them. A fault without a delay is a cut.
func (m *model) hit(t *traffic, inside bool) {
	for _, f := range m.faults {
		there := slices.Contains(f.From, t.from) && slices.Contains(f.To, t.to)
		back := slices.Contains(f.From, t.to) && slices.Contains(f.To, t.from)
		oneWay := f.Aim != nil && f.Aim.OneWay
		if between := there && back && inside; f.inForce() && !between && (there || back && !oneWay) {
			t.hit, t.cut, t.delayNS = true, t.cut || f.DelayNS == 0, t.delayNS+f.DelayNS
		}
	}
}
