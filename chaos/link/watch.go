package link

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"locklab/chaos/toxic"
	"locklab/locks/clock"
)

// least is how long so many bytes take at least between arriving at a link and leaving
// it, with a margin because toxics aim at the middle of the timer's errors. Jitter and flaky may spare
// any byte by chance: of them the share is asked for that is late. Of what takes less than
// the margin the probes alone speak.
func (i Impairment) least(bytes int64) time.Duration {
	d := i.Effect.Least(bytes)
	if toxic.Cuts(i.Effect) {
		return d
	}
	return margin(d)
}

func margin(d time.Duration) time.Duration { return d - max(d/4, 200*time.Microsecond) }

// improbable is what does not happen by chance, in any of a thousand links.
const improbable = 1e-9

// watch follows the bytes that arrive at one link from the moment at which an impairment
// is in force there: none may leave sooner than it lets.
type watch struct {
	impairment Impairment
	since      int64

	mu       sync.Mutex
	early    map[Direction]int64 // bytes
	quickest time.Duration       // of these
	all      map[Direction]int   // how often bytes left
	late     map[Direction]int   // and how often as late as chance has a share of them
}

// pass is called for bytes that left.
func (w *watch) pass(way Direction, bytes int64, took time.Duration) {
	if !slices.Contains(w.impairment.Direction.ways(), way) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if random, is := w.impairment.Effect.(toxic.Random); is {
		by, _ := random.Late()
		w.all[way]++
		if took >= margin(by) {
			w.late[way]++
		}
	}
	if took >= w.impairment.least(bytes) {
		return
	}
	if len(w.early) == 0 || took < w.quickest {
		w.quickest = took
	}
	w.early[way] += bytes
}

// contradicts says what shows that the impairment was not in force; "" if nothing does. A
// link without traffic shows nothing.
func (w *watch) contradicts(host string, spec Spec) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, way := range Both.ways() {
		from, to := "host "+host, cmp.Or(spec.ToNode, spec.Name)
		if way == Down {
			from, to = to, from
		}
		if w.early[way] > 0 {
			passed := fmt.Sprintf("%d bytes passed from %s to %s", w.early[way], from, to)
			if toxic.Cuts(w.impairment.Effect) {
				return passed + " while the link was to be cut"
			}
			return fmt.Sprintf("%s sooner than with the %s that was to be there, one after %v", passed, w.impairment.Effect.Kind(), w.quickest)
		}
		if random, is := w.impairment.Effect.(toxic.Random); is {
			if _, share := random.Late(); toxic.AtMost(w.late[way], w.all[way], share) < improbable {
				return fmt.Sprintf("only %d of the %d times that bytes passed from %s to %s were late, which is too few for the %s that was to be there", w.late[way], w.all[way], from, to, w.impairment.Effect.Kind())
			}
		}
	}
	return ""
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
	if len(p.conn.link.watches.list()) > 0 {
		arrival.at = clock.Mono()
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
				w.pass(p.way, part, time.Duration(now-q.at))
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

// watch begins to watch the link for an impairment. Probes speak for themselves, and of what
// is done by hand nothing is to be proven. The caller holds mu.
func (l *link) watch(i Impairment) {
	if i.ByHand || l.spec.Name == probeName(l.spec.ToHost) {
		return
	}
	all := append(slices.Clone(l.watches.list()), &watch{impairment: i, since: clock.Mono(), early: map[Direction]int64{}, all: map[Direction]int{}, late: map[Direction]int{}})
	l.watches.all.Store(&all)
}

// unwatch ends it, and says what contradicts the impairment.
func (l *link) unwatch(id string) (contradicted string) {
	all := slices.DeleteFunc(slices.Clone(l.watches.list()), func(w *watch) bool {
		if w.impairment.ID == id {
			contradicted = w.contradicts(l.host.config.Host, l.spec)
		}
		return w.impairment.ID == id
	})
	l.watches.all.Store(&all)
	return contradicted
}
