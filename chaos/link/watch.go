package link

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"

	"locklab/chaos/toxic"
	"locklab/locks/clock"
)

// watch follows the bytes that arrive at one link from the moment at which an impairment
// is in force there: none may leave sooner than it lets. A link without traffic shows nothing.
type watch struct {
	Impairment
	since time.Time
	wrong atomic.Pointer[string] // what left too soon first
}

// early says what is wrong with so many bytes that left after so long, "" if nothing is. Jitter and flaky may
// spare any byte by chance: of them, and of what takes less than the margin, the probes alone speak.
func (w *watch) early(bytes int, took time.Duration) string {
	if toxic.Cuts(w.Effect) {
		return "while the link was to be cut"
	}
	least := toxic.Least(w.Effect, int64(bytes))
	if took < least-max(least/4, 200*time.Microsecond) { // toxics aim at the middle of the timer's errors
		return fmt.Sprintf("after %v, sooner than with the %s that was to be there", took, toxic.Kind(w.Effect))
	}
	return ""
}

// passed counts a chunk that came out of the toxics.
func (l *link) passed(way Direction, chunk *stream.StreamChunk) {
	bytes := len(chunk.Data)
	l.carried.of(way).Add(int64(bytes))
	for _, w := range *l.watches.Load() {
		if !w.Direction.has(way) || chunk.Timestamp.Before(w.since) || w.wrong.Load() != nil {
			continue
		}
		if wrong := w.early(bytes, clock.System().Now().Sub(chunk.Timestamp)); wrong != "" {
			from, to := "host "+l.host.config.Host, l.spec.ToNode
			if way == Down {
				from, to = to, from
			}
			wrong = fmt.Sprintf("%d bytes passed from %s to %s %s", bytes, from, to, wrong)
			w.wrong.Store(&wrong)
		}
	}
}

// watch begins to watch the link for an impairment. Probes speak for themselves, and of what
// is done by hand nothing is to be proven. The caller holds mu.
func (l *link) watch(i Impairment) {
	if i.byHand() || l.spec.isProbe() {
		return
	}
	all := append(slices.Clone(*l.watches.Load()), &watch{Impairment: i, since: clock.System().Now()})
	l.watches.Store(&all)
}

// unwatch ends it, and says what contradicts the impairment.
func (l *link) unwatch(id string) (contradicted string) {
	all := slices.DeleteFunc(slices.Clone(*l.watches.Load()), func(w *watch) bool {
		if wrong := w.wrong.Load(); w.ID == id && wrong != nil {
			contradicted = *wrong
		}
		return w.ID == id
	})
	l.watches.Store(&all)
	return contradicted
}
