package peertest

import "slices"

// faults adds every fault that can happen next.
func (w *World[S, M, P]) faults(add func(next *World[S, M, P], format string, args ...any)) {
	n := len(w.peers)
	if w.cuts < len(w.scope.Cuts) {
		i, j := w.scope.Cuts[w.cuts][0], w.scope.Cuts[w.cuts][1]
		if w.current[i*n+j] && w.current[j*n+i] {
			for a := range len(w.wires[i*n+j]) + 1 {
				for b := range len(w.wires[j*n+i]) + 1 {
					c := w.clone()
					c.cuts++
					c.lose(i, j, a)
					c.lose(j, i, b)
					add(c, "the link of %d and %d is cut", i, j)
				}
			}
		}
	}
	if w.crashes < len(w.scope.Crashes) {
		w.crash(w.scope.Crashes[w.crashes], add)
	}
	for i := range n {
		for j := range i {
			if w.mends > 0 && !w.linked(i, j) {
				c := w.clone()
				c.mends--
				for _, d := range [][2]int{{i, j}, {j, i}} {
					c.wires[d[0]*n+d[1]] = append(c.wires[d[0]*n+d[1]], token[M]{kind: 'u'})
				}
				add(c, "%d and %d have a connection", j, i)
			}
		}
	}
}

// lose ends the connection between i and j. Of what was on its way from i to j the
// first keep tokens still arrive, before the news.
func (w *World[S, M, P]) lose(i, j, keep int) {
	n := len(w.peers)
	w.current[i*n+j] = false
	w.wires[i*n+j] = append(w.wires[i*n+j][:keep], token[M]{kind: 'd'})
}

// linked says whether a connection between i and j exists, though its ends may not
// have noticed yet.
func (w *World[S, M, P]) linked(i, j int) bool {
	n := len(w.peers)
	up := func(a, b int) bool { // b learns of a by the wire from a to b
		for _, t := range slices.Backward(w.wires[a*n+b]) {
			if t.kind != 'm' {
				return t.kind == 'u'
			}
		}
		return w.current[b*n+a]
	}
	return up(i, j) && up(j, i)
}

// crash replaces peer i by a new incarnation. All or nothing of what it sent to
// each peer still arrives.
func (w *World[S, M, P]) crash(i int, add func(next *World[S, M, P], format string, args ...any)) {
	n := len(w.peers)
	for j := range n {
		if j != i && (!w.current[i*n+j] || !w.current[j*n+i]) {
			return
		}
	}
	for arrives := range 1 << n {
		if arrives&(1<<i) != 0 {
			continue
		}
		c := w.clone()
		c.crashes++
		c.peers[i] = c.fresh(i)
		for j := range n {
			if j == i {
				continue
			}
			keep := 0
			if arrives&(1<<j) != 0 {
				keep = len(c.wires[i*n+j])
			}
			c.lose(i, j, keep)
			c.wires[j*n+i], c.current[j*n+i] = nil, false
		}
		add(c, "%d crashes", i)
	}
}
