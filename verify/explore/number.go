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

func (p *part) mention(x number) {
	if !slices.Contains(p.numbers, x) {
		p.numbers = append(p.numbers, x)
	}
}

// renumbering maps the numbers of each owner to small ones.
type renumbering struct {
	from, to [][]uint64 // ascending, by owner
}

func (r *renumbering) value(owner int, number uint64) uint64 {
	for i, x := range r.from[owner] { // few
		if x == number {
			return r.to[owner][i]
		}
	}
	return number
}

// fill makes the numbers of from small: their order stays, and zero, and gaps up to the widest. New
// numbers are above the floor, so gaps below it do not matter. It says whether that changes anything
// and whether a gap that matters was too wide.
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

// gapUnbounded is how wide gaps are kept where the scope does not bound them.
const gapUnbounded = 16

// widestGap is one where every peer counts up its own numbers only: a new number is then above all
// others of its owner, whatever gaps there are. Where peers number above what they saw of others, a
// number can fall into a gap; no more of them do than there are requests.
func (w *world[S, M, P]) widestGap(sample peercore.Numbered) uint64 {
	own, sum := true, uint64(1)
	sample.Renumber(func(owner int, number uint64) uint64 {
		own = own && owner == w.n-1
		return number
	})
	for i := range w.n {
		if w.scope.requests(i) == Any {
			sum = gapUnbounded
			break
		}
		sum += uint64(w.scope.requests(i))
	}
	if own {
		return 1
	}
	return sum
}

// renumber makes the numbers in next small again.
func (w *world[S, M, P]) renumber() {
	if !w.numbered || w.plain {
		return
	}
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
	changes, floor := false, w.floor()
	for owner := range w.n {
		c, shortened := w.numbers.fill(owner, w.gap, floor)
		changes = changes || c
		w.shortened = w.shortened || shortened && w.gap > 1
	}
	if !changes {
		return
	}
	for field, p := range w.next[:w.restField()] {
		if slices.ContainsFunc(p.numbers, func(x number) bool { return w.numbers.value(x.owner, x.value) != x.value }) {
			w.renumberPart(field, p)
		}
	}
}

// floor is what all numbers will be above that are made from now on, where peers count up from each
// other's. A peer that loses its memory begins at zero.
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

// renumberPart replaces a part by the same with the new numbers.
func (w *world[S, M, P]) renumberPart(field int, p *part) {
	if field < w.n {
		core := P(&w.load(p, &w.peers[field]).State)
		any(core).(peercore.Numbered).Renumber(w.numbers.value)
		w.buf = core.AppendEncode(append(w.buf[:0], p.bytes[:peerCore]...))
	} else {
		from, to := w.endsOf(field)
		w.buf = append(w.buf[:0], p.bytes[0])
		for k := range p.ends {
			item := p.item(k)
			w.buf = append(w.buf, item[0])
			if !isNews(item[0]) {
				m, _ := w.decode(item[1:])
				w.all.Alg.Renumber(&m, from, to, w.numbers.value)
				w.buf = w.all.Alg.Append(w.buf, m)
			}
		}
	}
	w.keep(field)
}
