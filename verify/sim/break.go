package sim

import "slices"

// fault lets a fault begin.
func (w *world[M]) fault(k int) {
	f := w.cfg.Faults[k]
	if w.trace != nil {
		w.trace.fault(w.now, f, "begins")
	}
	switch f.Kind {
	case Partition, Slow:
		w.each(f, 1)
	case Crash:
		for _, r := range f.A {
			if w.procs[r].alive {
				w.die(r)
			}
		}
	case Pause:
		for _, r := range f.A {
			w.procs[r].paused++
			w.touchAll(r)
		}
	case Drift: // see due
	}
}

// end heals it.
func (w *world[M]) end(k int) {
	f := w.cfg.Faults[k]
	if w.trace != nil {
		w.trace.fault(w.now, f, "ends")
	}
	switch f.Kind {
	case Partition, Slow:
		w.each(f, -1)
	case Crash:
		for _, r := range f.A {
			if !w.procs[r].alive && !w.crashed(r, k) {
				w.start(r, true)
				w.touchAll(r)
				w.lookForPeers(r)
			}
		}
	case Pause:
		for _, r := range f.A {
			if w.procs[r].paused--; w.procs[r].paused == 0 {
				w.resume(r)
			}
		}
	case Drift:
	}
}

// crashed says whether a fault other than k keeps the peer down.
func (w *world[M]) crashed(r, k int) bool {
	for i, f := range w.cfg.Faults {
		until := int64(min(f.Until, w.cfg.Duration))
		if i != k && f.Kind == Crash && int64(f.From) <= w.now && w.now < until && slices.Contains(f.A, r) {
			return true
		}
	}
	return false
}

// each changes all directions that the fault hits.
func (w *world[M]) each(f Fault, by int16) {
	change := func(from, to int) {
		l := &w.links[from*w.n+to]
		if f.Kind == Slow {
			l.slower += int64(by) * int64(f.Delay)
			return
		}
		l.blocked += by
		w.touch(from, to)
	}
	for _, a := range f.A {
		for _, b := range f.B {
			change(a, b)
			if !f.OneWay {
				change(b, a)
			}
		}
	}
}

func (w *world[M]) touchAll(r int) {
	for j := range w.n {
		if j != r {
			w.touch(r, j)
		}
	}
}

// resume lets a stopped process go on: it reads all that has come meanwhile.
func (w *world[M]) resume(r int) {
	w.touchAll(r)
	p := &w.procs[r]
	if !p.alive {
		return
	}
	late := p.inbox
	p.inbox = nil
	for _, i := range late {
		if w.slots[i].op == opSilent { // it could not listen, so it gives them time
			sl := w.slots[i]
			w.free = append(w.free, i)
			w.push(w.now+int64(silence), sl)
			continue
		}
		w.happen(i)
	}
}
