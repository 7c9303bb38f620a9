package explore

import (
	"slices"

	"locklab/locks/peerlock/peercore"
)

// number is a round or a timestamp.
type number struct {
	owner int
	value uint64
}

// renumbering maps the numbers of each owner to small ones.
type renumbering struct {
	from, to [][]uint64 // ascending, by owner
}

func newRenumbering(owners int) renumbering {
	return renumbering{make([][]uint64, owners), make([][]uint64, owners)}
}

func (r *renumbering) value(owner int, number uint64) uint64 {
	for i, x := range r.from[owner] { // few
		if x == number {
			return r.to[owner][i]
		}
	}
	return number
}

// fill makes the numbers of from small: their order stays, and zero, and gaps up to
// the widest. New numbers are above the floor, so gaps below it do not matter. It says
// whether that changes anything and whether a gap that matters was too wide.
func (r *renumbering) fill(owner int, gap, floor uint64) (changes, shortened bool) {
	r.to[owner] = r.to[owner][:0]
	last, made := uint64(0), uint64(0)
	for _, x := range r.from[owner] {
		widest := gap
		if x <= floor {
			widest = 1
		} else if x-last > gap {
			shortened = true
		}
		made += min(x-last, widest)
		last = x
		changes = changes || made != x
		r.to[owner] = append(r.to[owner], made)
	}
	return changes, shortened
}

// renumber makes the numbers in next small again.
func (w *world[S, M, P]) renumber() {
	if !w.numbered || w.plain {
		return
	}
	w.collect()
	floor := w.floor()
	changes := false
	for owner := range w.n {
		c, shortened := w.numbers.fill(owner, w.gap, floor)
		changes = changes || c
		if shortened && w.gap > 1 {
			w.shortened = true
		}
	}
	if !changes {
		return
	}
	for field := range w.restField() {
		if w.affected(w.next[field]) {
			w.renumberPart(field)
		}
	}
}

// floor is what all numbers will be above that are made from now on, where peers count
// up from each other's. A peer that loses its memory begins at zero.
func (w *world[S, M, P]) floor() uint64 {
	if w.next[w.restField()].bytes[restCrashes] > 0 {
		return 0
	}
	floor := w.next[0].round
	for _, p := range w.next[1:w.n] {
		floor = min(floor, p.round)
	}
	return floor
}

// collect gathers the numbers that are mentioned.
func (w *world[S, M, P]) collect() {
	for owner := range w.n {
		w.numbers.from[owner] = w.numbers.from[owner][:0]
	}
	for _, p := range w.next[:w.restField()] {
		for _, x := range p.numbers {
			from := &w.numbers.from[x.owner]
			if at, known := slices.BinarySearch(*from, x.value); !known {
				*from = slices.Insert(*from, at, x.value)
			}
		}
	}
}

// affected says that a number of the part changes.
func (w *world[S, M, P]) affected(p *part) bool {
	for _, x := range p.numbers {
		if w.numbers.value(x.owner, x.value) != x.value {
			return true
		}
	}
	return false
}

// renumberPart replaces a part by the same with the new numbers.
func (w *world[S, M, P]) renumberPart(field int) {
	w.visit(field, w.mapped)
	w.keep(field)
}

// visit applies f to the numbers of a part and leaves what comes of it in buf.
func (w *world[S, M, P]) visit(field int, f func(owner int, number uint64) uint64) {
	p := w.next[field]
	if field < w.n {
		core := P(&w.load(p, &w.peers[field]).State)
		any(core).(peercore.Numbered).Renumber(f)
		w.buf = core.AppendEncode(append(w.buf[:0], p.bytes[:peerCore]...))
		return
	}
	from, to := w.endsOf(field)
	w.buf = append(w.buf[:0], p.bytes[0])
	for k := range p.ends {
		item := p.item(k)
		if isNews(item[0]) {
			w.buf = append(w.buf, item[0])
			continue
		}
		w.message, _ = w.decode(item[1:])
		w.all.Alg.Renumber(&w.message, from, to, f)
		w.buf = w.all.Alg.Append(append(w.buf, item[0]), w.message)
	}
}
