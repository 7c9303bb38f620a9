package explore

import (
	"math/bits"
	"slices"

	"locklab/locks/peerlock/peercore"
)

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
func (w *worker[S, M, P]) renumber() {
	if !w.numbered || w.plain {
		return
	}
	if !w.collect() {
		return
	}
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
func (w *worker[S, M, P]) floor() uint64 {
	if w.next[w.restField()].bytes[restCrashes] > 0 {
		return 0
	}
	floor := w.next[0].round
	for _, p := range w.next[1:w.n] {
		floor = min(floor, p.round)
	}
	return floor
}

// collect gathers the numbers that are mentioned. It says false if they are small
// already.
func (w *worker[S, M, P]) collect() bool {
	clear(w.marks)
	wide := false
	for _, p := range w.next[:w.restField()] {
		for owner, m := range p.marks {
			w.marks[owner] |= m
		}
		wide = wide || p.wide
	}
	if !wide {
		small := true
		for _, m := range w.marks {
			m |= 1
			small = small && m&(m+1) == 0
		}
		if small {
			return false
		}
	}
	for owner, m := range w.marks {
		w.numbers.from[owner] = w.numbers.from[owner][:0]
		for ; m != 0; m &= m - 1 {
			w.numbers.from[owner] = append(w.numbers.from[owner], uint64(bits.TrailingZeros64(m)))
		}
	}
	if wide {
		w.collectWide()
	}
	return true
}

// collectWide adds the numbers that have no mark.
func (w *worker[S, M, P]) collectWide() {
	add := func(owner int, number uint64) uint64 {
		if at, known := slices.BinarySearch(w.numbers.from[owner], number); !known {
			w.numbers.from[owner] = slices.Insert(w.numbers.from[owner], at, number)
		}
		return number
	}
	for field, p := range w.next[:w.restField()] {
		if p.wide {
			w.visit(field, add)
		}
	}
}

// affected says that a number of the part changes.
func (w *worker[S, M, P]) affected(p *part) bool {
	if p.wide {
		return true
	}
	for owner, m := range p.marks {
		for ; m != 0; m &= m - 1 {
			x := uint64(bits.TrailingZeros64(m))
			if w.numbers.value(owner, x) != x {
				return true
			}
		}
	}
	return false
}

// renumberPart replaces a part by the same with the new numbers.
func (w *worker[S, M, P]) renumberPart(field int) {
	w.visit(field, w.mapped)
	w.next[field] = w.intern(field, w.buf)
}

// visit applies f to the numbers of a part and leaves what comes of it in buf.
func (w *worker[S, M, P]) visit(field int, f func(owner int, number uint64) uint64) {
	p := w.next[field]
	if field < w.n {
		core := P(&w.peers[field])
		core.Load(p.bytes[peerCore:])
		any(core).(peercore.Numbered).Renumber(f)
		w.buf = core.AppendEncode(append(w.buf[:0], p.bytes[:peerCore]...))
		return
	}
	from, to := w.endsOf(field)
	w.buf = append(w.buf[:0], p.bytes[0])
	for k := range p.ends {
		token := p.token(k)
		if isNews(token[0]) {
			w.buf = append(w.buf, token[0])
			continue
		}
		w.message, _ = w.decode(token[1:])
		w.alg.Renumber(&w.message, from, to, f)
		w.buf = w.alg.Append(append(w.buf, token[0]), w.message)
	}
}
