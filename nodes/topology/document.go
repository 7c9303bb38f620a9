package topology

import "locklab/locks/strictyaml"

// document is a topology as it is written. Durations stay text until they are
// checked, so that an error can say where they stand and what would be right.
type document struct {
	Name    string
	Summary string
	Zones   []zoneEntry
	Latency *latencyEntry
	Hosts   []hostEntry
}

type zoneEntry struct{ Name, Short string }

type latencyEntry struct {
	Inside  *rttEntry
	Between *rttEntry
	Pairs   []pairEntry
}

type rttEntry struct{ RTT, Jitter string }

type pairEntry struct {
	Zones       []string
	RTT, Jitter string
}

type hostEntry struct {
	Name, Zone, Agent string
	Nodes             []nodeEntry
}

type nodeEntry struct{ Name, Role string }

func (s source) document() (d document) {
	for _, f := range s.Fields(s.Root, "topology", "name", "summary", "zones", "latency", "hosts") {
		switch f.Key {
		case "name":
			d.Name = s.Text(f.Value, "name")
		case "summary":
			d.Summary = s.Text(f.Value, "summary")
		case "zones":
			d.Zones = each(s, f.Value, "zones", s.zone)
		case "latency":
			d.Latency = s.latency(f.Value)
		case "hosts":
			d.Hosts = each(s, f.Value, "hosts", s.host)
		}
	}
	return d
}

// each reads the entries of a list.
func each[T any](s source, list *strictyaml.Node, path string, read func(n *strictyaml.Node, path string) T) (all []T) {
	for i, n := range s.List(list, path) {
		all = append(all, read(n, index(path, i)))
	}
	return all
}

func (s source) zone(n *strictyaml.Node, path string) (z zoneEntry) {
	for _, f := range s.Fields(n, path, "name", "short") {
		switch text := s.Text(f.Value, path+"."+f.Key); f.Key {
		case "name":
			z.Name = text
		case "short":
			z.Short = text
		}
	}
	return z
}

func (s source) latency(n *strictyaml.Node) *latencyEntry {
	var l latencyEntry
	for _, f := range s.Fields(n, "latency", "inside", "between", "pairs") {
		switch f.Key {
		case "inside":
			l.Inside = s.rttEntry(f.Value, "latency.inside")
		case "between":
			l.Between = s.rttEntry(f.Value, "latency.between")
		case "pairs":
			l.Pairs = each(s, f.Value, "latency.pairs", s.pair)
		}
	}
	return &l
}

func (s source) rttEntry(n *strictyaml.Node, path string) *rttEntry {
	var r rttEntry
	for _, f := range s.Fields(n, path, "rtt", "jitter") {
		switch text := s.Text(f.Value, path+"."+f.Key); f.Key {
		case "rtt":
			r.RTT = text
		case "jitter":
			r.Jitter = text
		}
	}
	return &r
}

func (s source) pair(n *strictyaml.Node, path string) (p pairEntry) {
	for _, f := range s.Fields(n, path, "zones", "rtt", "jitter") {
		switch at := path + "." + f.Key; f.Key {
		case "zones":
			p.Zones = s.Texts(f.Value, at)
		case "rtt":
			p.RTT = s.Text(f.Value, at)
		case "jitter":
			p.Jitter = s.Text(f.Value, at)
		}
	}
	return p
}

func (s source) host(n *strictyaml.Node, path string) (h hostEntry) {
	for _, f := range s.Fields(n, path, "name", "zone", "agent", "nodes") {
		switch at := path + "." + f.Key; f.Key {
		case "name":
			h.Name = s.Text(f.Value, at)
		case "zone":
			h.Zone = s.Text(f.Value, at)
		case "agent":
			h.Agent = s.Text(f.Value, at)
		case "nodes":
			h.Nodes = each(s, f.Value, at, s.node)
		}
	}
	return h
}

func (s source) node(n *strictyaml.Node, path string) (e nodeEntry) {
	for _, f := range s.Fields(n, path, "name", "role") {
		switch text := s.Text(f.Value, path+"."+f.Key); f.Key {
		case "name":
			e.Name = text
		case "role":
			e.Role = text
		}
	}
	return e
}
