package link

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"locklab/locks/clock"
)

// Passage is what the data connections of one link saw in one direction while they
// were watched. Only bytes that arrived at the link in that time count.
type Passage struct {
	Link    string    `json:"link"`
	ToHost  string    `json:"to_host"`
	ToNode  string    `json:"to_node"`
	Way     Direction `json:"way"`
	Arrived int64     `json:"arrived"` // bytes
	Passed  int64     `json:"passed"`  // of these, those that left for the receiver
	// Early are those that left sooner than the impairment lets any, and Quickest is
	// how long the quickest of them took.
	Early    int64         `json:"early"`
	Quickest time.Duration `json:"quickest_ns"`
}

// Contradicted says which link shows that the impairment was not in force on the data
// connections of the host. A link without traffic shows nothing.
func (i Impairment) Contradicted(host string, seen []Passage) error {
	for _, p := range seen {
		if p.Early == 0 || !i.hits(p.ToHost) || !slices.Contains(i.Direction.ways(), p.Way) {
			continue
		}
		from, to := "host "+host, cmp.Or(p.ToNode, p.Link)
		if p.Way == Down {
			from, to = to, from
		}
		if i.cuts() {
			return fmt.Errorf("%d bytes passed from %s to %s while the link was to be cut", p.Early, from, to)
		}
		return fmt.Errorf("%d bytes passed from %s to %s sooner than with the %s that was to be there, one after %v",
			p.Early, from, to, i.Kind, p.Quickest)
	}
	return nil
}

func (i Impairment) cuts() bool { return i.Kind == Hold || i.Kind == Drop || i.Kind == Reset }

// least is how long so many bytes take at least between arriving at a link and leaving
// it, with a margin because toxics aim at the middle of the timer's errors. Of jitter and
// flaky, which may spare any byte by chance, and of what takes less than the margin,
// nothing can be asked: for those the probes alone speak.
func (i Impairment) least(bytes int64) time.Duration {
	var d time.Duration
	switch {
	case i.cuts():
		return math.MaxInt64
	case i.Kind == Latency:
		d = i.Delay
	case i.Kind == Bandwidth:
		d = time.Duration(float64(bytes) / float64(i.BytesPerS) * float64(time.Second))
	}
	return d - max(d/4, 200*time.Microsecond)
}

// watch follows the bytes of one link from the moment at which an impairment is to be
// in force there. It does not ask whether it is.
type watch struct {
	impairment Impairment
	since      int64
	up, down   tally
}

type tally struct {
	mu                     sync.Mutex
	arrived, passed, early int64
	quickest               time.Duration // of the early ones
}

func (w *watch) tally(way Direction) *tally {
	if way == Up {
		return &w.up
	}
	return &w.down
}

func (t *tally) arrive(bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arrived += bytes
}

func (t *tally) pass(bytes int64, took, least time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passed += bytes
	if took >= least {
		return
	}
	if t.early == 0 || took < t.quickest {
		t.quickest = took
	}
	t.early += bytes
}

// watches are those of one link. Pipes read them for every chunk, so without a lock.
type watches struct{ all atomic.Pointer[[]*watch] }

func (w *watches) list() []*watch {
	if all := w.all.Load(); all != nil {
		return *all
	}
	return nil
}

// parcel is what a pipe read at once, or what is left of it.
type parcel struct {
	bytes int64
	at    int64 // when, on clock.Mono; 0 where nobody watched
}

// maxParcels bounds what a pipe remembers: what it reads beyond that counts as part of
// the youngest, and so as older than it is.
const maxParcels = 1024

// arrived notes what the pipe read. The caller holds mu.
func (p *pipe) arrived(bytes int64) {
	arrival := parcel{bytes: bytes}
	if all := p.conn.link.watches.list(); len(all) > 0 {
		arrival.at = clock.Mono()
		for _, w := range all {
			w.tally(p.way).arrive(bytes)
		}
	}
	if len(p.parcels) >= maxParcels {
		p.parcels[len(p.parcels)-1].bytes += bytes
		return
	}
	p.parcels = append(p.parcels, arrival)
}

// passed notes what came out of the toxics: the oldest of what was read. What a drop
// swallowed still counts as under way; nothing passes on that connection any more. The
// caller holds mu.
func (p *pipe) passed(bytes int64) {
	all, now, gone := p.conn.link.watches.list(), int64(0), 0
	if len(all) > 0 {
		now = clock.Mono()
	}
	for n := range p.parcels {
		q := &p.parcels[n]
		part := min(bytes, q.bytes)
		for _, w := range all {
			if q.at >= w.since {
				w.tally(p.way).pass(part, time.Duration(now-q.at), w.impairment.least(part))
			}
		}
		bytes -= part
		if q.bytes -= part; q.bytes == 0 {
			gone++
		}
		if bytes == 0 {
			break
		}
	}
	p.parcels = slices.Delete(p.parcels, 0, gone)
}

// watch begins to watch the link for the impairment. Probes speak for themselves.
func (l *link) watch(i Impairment) {
	if l.spec.Name == probeName(l.spec.ToHost) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := append(slices.Clone(l.watches.list()), &watch{impairment: i, since: clock.Mono()})
	l.watches.all.Store(&all)
}

// seen ends the watch and says what passed, in the directions that had traffic.
func (l *link) seen(id string) (seen []Passage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.watches.list())
	n := slices.IndexFunc(all, func(w *watch) bool { return w.impairment.ID == id })
	if n < 0 {
		return nil
	}
	w := all[n]
	all = slices.Delete(all, n, n+1)
	l.watches.all.Store(&all)
	for _, way := range Both.ways() {
		t := w.tally(way)
		t.mu.Lock()
		if t.arrived > 0 {
			seen = append(seen, Passage{
				Link: l.spec.Name, ToHost: l.spec.ToHost, ToNode: l.spec.ToNode, Way: way,
				Arrived: t.arrived, Passed: t.passed, Early: t.early, Quickest: t.quickest,
			})
		}
		t.mu.Unlock()
	}
	return seen
}

// Watch has all data links of the host, but not those of probes, note what passes,
// whether the impairment hits them or not. Call it when [Host.Apply] has returned: what
// arrives from then on is what the impairment must hit. Seen ends it.
func (h *Host) Watch(i Impairment) error {
	if err := i.validate(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errClosed
	}
	if slices.ContainsFunc(h.watched, func(j Impairment) bool { return j.ID == i.ID }) {
		return nil
	}
	h.watched = append(h.watched, i)
	for _, l := range h.links {
		l.watch(i)
	}
	return nil
}

// Seen ends a watch, before the impairment is healed, and says what the data
// connections saw.
func (h *Host) Seen(id string) (seen []Passage, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := slices.IndexFunc(h.watched, func(i Impairment) bool { return i.ID == id })
	if n < 0 {
		return nil, fmt.Errorf("impairment %q: nobody watches its links: %w", id, ErrInvalid)
	}
	h.watched = slices.Delete(h.watched, n, n+1)
	for _, l := range h.links {
		seen = append(seen, l.seen(id)...)
	}
	slices.SortFunc(seen, func(a, b Passage) int { return cmp.Compare(a.Link, b.Link) })
	return seen, nil
}
