package sim

// item is something that is to happen. What it is stands in a slot, so that the queue
// moves few bytes.
type item struct {
	at   int64 // nanoseconds of virtual time
	seq  uint64
	slot int32
}

// before orders items by time, and those of one time by when they were pushed.
func (a item) before(b item) bool { return a.at < b.at || (a.at == b.at && a.seq < b.seq) }

// queue is a heap in which every item has four children: half as deep as with two,
// and the four stand side by side.
type queue struct {
	items []item
	seq   uint64
}

func (q *queue) push(at int64, slot int32) {
	q.seq++
	it := item{at: at, seq: q.seq, slot: slot}
	q.items = append(q.items, it)
	i := len(q.items) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !it.before(q.items[parent]) {
			break
		}
		q.items[i] = q.items[parent]
		i = parent
	}
	q.items[i] = it
}

// pop takes out the first item. The queue must not be empty.
func (q *queue) pop() item {
	top := q.items[0]
	n := len(q.items) - 1
	last := q.items[n]
	q.items = q.items[:n]
	if n == 0 {
		return top
	}
	i := 0
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, n); c++ {
			if q.items[c].before(q.items[least]) {
				least = c
			}
		}
		if !q.items[least].before(last) {
			break
		}
		q.items[i] = q.items[least]
		i = least
	}
	q.items[i] = last
	return top
}
