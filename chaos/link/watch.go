package link

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"

	"locklab/chaos/toxic"
	"locklab/locks/clock"
)

// least is how long so many bytes take at least between arriving at a link and leaving
// it, with a margin because toxics aim at the middle of the timer's errors. Jitter and flaky may
// spare any byte by chance: of them, and of what takes less than the margin, the probes alone speak.
func (i Impairment) least(bytes int) time.Duration {
	if toxic.Cuts(i.Effect) {
		return math.MaxInt64
	}
	d := toxic.Least(i.Effect, int64(bytes))
	return d - max(d/4, 200*time.Microsecond)
}

// watch follows the bytes that arrive at one link from the moment at which an impairment
// is in force there: none may leave sooner than it lets.
type watch struct {
	impairment Impairment
	since      time.Time

	mu   sync.Mutex
	seen map[Direction]*seen
}

// seen is what a watch saw of one way.
type seen struct {
	early    int           // bytes
	quickest time.Duration // of these
}

// pass is called for bytes that left.
func (w *watch) pass(way Direction, bytes int, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.seen[way]
	if took < w.impairment.least(bytes) {
		if s.early == 0 || took < s.quickest {
			s.quickest = took
		}
		s.early += bytes
	}
}

// contradicts says what shows that the impairment was not in force; "" if nothing does. A
// link without traffic shows nothing.
func (w *watch) contradicts(host string, spec Spec) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	effect := w.impairment.Effect
	for _, way := range ways() {
		route := "from host " + host + " to " + spec.ToNode
		if way == Down {
			route = "from " + spec.ToNode + " to host " + host
		}
		switch s := w.seen[way]; {
		case s.early > 0 && toxic.Cuts(effect):
			return fmt.Sprintf("%d bytes passed %s while the link was to be cut", s.early, route)
		case s.early > 0:
			return fmt.Sprintf("%d bytes passed %s sooner than with the %s that was to be there, one after %v",
				s.early, route, toxic.Kind(effect), s.quickest)
		}
	}
	return ""
}

// watches are those of one link. Connections read them for every chunk, so without a lock.
type watches struct{ atomic.Pointer[[]*watch] }

func (w *watches) list() []*watch {
	if all := w.Load(); all != nil {
		return *all
	}
	return nil
}

// passed counts a chunk that came out of the toxics.
func (l *link) passed(way Direction, chunk *stream.StreamChunk) {
	l.carried.of(way).Add(int64(len(chunk.Data)))
	for _, w := range l.watches.list() {
		if !chunk.Timestamp.Before(w.since) && w.impairment.Direction.has(way) {
			w.pass(way, len(chunk.Data), clock.System().Now().Sub(chunk.Timestamp))
		}
	}
}

// watch begins to watch the link for an impairment. Probes speak for themselves, and of what
// is done by hand nothing is to be proven. The caller holds mu.
func (l *link) watch(i Impairment) {
	if i.byHand() || l.spec.isProbe() {
		return
	}
	w := &watch{impairment: i, since: clock.System().Now(), seen: map[Direction]*seen{Up: {}, Down: {}}}
	all := append(slices.Clone(l.watches.list()), w)
	l.watches.Store(&all)
}

// unwatch ends it, and says what contradicts the impairment.
func (l *link) unwatch(id string) (contradicted string) {
	all := slices.DeleteFunc(slices.Clone(l.watches.list()), func(w *watch) bool {
		if w.impairment.ID == id {
			contradicted = w.contradicts(l.host.config.Host, l.spec)
		}
		return w.impairment.ID == id
	})
	l.watches.Store(&all)
	return contradicted
}
