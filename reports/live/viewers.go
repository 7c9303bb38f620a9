package live

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// view is what viewers have in common: their language, and a width.
type view struct {
	lang   string
	narrow bool // for a phone
}

// part is a part of the page.
type part struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// feed is the newest of every part, for all viewers of a view. Each viewer takes the parts that
// changed since it last did: a slow browser delays no other, and skips what it missed.
type feed struct {
	viewers int
	frame   int // the newest
	parts   map[string]sent
	more    chan struct{} // closed at the next frame, and at the end
}

// sent is a part with its JSON and the frame that brought it.
type sent struct {
	part
	line  []byte
	frame int
}

// hub has the feeds of all views that have viewers.
type hub struct {
	mu      sync.Mutex
	feeds   map[view]*feed
	viewers int
	joined  int // viewers so far
	ended   bool
}

const (
	// turns spread the writes to all viewers over the time between two frames: all at once
	// would stop whatever the machine is measuring.
	turns = 16
	// fewViewers get a frame every frameTime. From this number on they get half as many, from
	// twice the number on a third, so that the cost of viewers is bounded.
	fewViewers = 8
)

// join adds a viewer. Its turn is how long after a frame it is written to.
func (h *hub) join(v view) (f *feed, turn time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.feeds[v] == nil {
		h.feeds[v] = &feed{parts: map[string]sent{}, more: make(chan struct{})}
	}
	f, turn = h.feeds[v], time.Duration(h.joined%turns)*frameTime/turns
	f.viewers++
	h.viewers++
	h.joined++
	return f, turn
}

// leave removes a viewer, and a feed without viewers: it would become stale.
func (h *hub) leave(v view) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.viewers--
	if h.feeds[v].viewers--; h.feeds[v].viewers == 0 {
		delete(h.feeds, v)
	}
}

// news is an event with the parts that changed after a frame; nil if none did.
func (h *hub) news(f *feed, since int) (event []byte, frame int, more <-chan struct{}, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range f.parts {
		if p.frame > since {
			event = append(append(event, ','), p.line...)
		}
	}
	if event != nil {
		event = slices.Concat([]byte("event: parts\ndata: ["), event[1:], []byte("]\n\n"))
	}
	return event, f.frame, f.more, h.ended
}

// show renders every view once. Charts are drawn if they are due, or if a feed has none yet.
func (h *hub) show(p *painter, m *model, nowNS int64, charts bool) {
	h.mu.Lock()
	feeds := maps.Clone(h.feeds)
	h.mu.Unlock()
	for v, f := range feeds {
		h.put(f, p.paint(v, m, nowNS, charts || f.frame == 0)) // only this goroutine changes the frame
	}
}

// put makes a frame of the parts that changed.
func (h *hub) put(f *feed, parts []part) {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := f.frame + 1
	for _, one := range parts {
		if f.parts[one.ID].part == one {
			continue
		}
		if line, err := json.Marshal(one); err == nil { // two strings are always JSON
			f.parts[one.ID], f.frame = sent{one, line, next}, next
		}
	}
	if f.frame == next {
		f.wake()
	}
}

func (f *feed) wake() {
	close(f.more)
	f.more = make(chan struct{})
}

// close ends the streams of all viewers, after the newest frame.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for _, f := range h.feeds {
		f.wake()
	}
}

// pace is the time between two frames.
func (h *hub) pace() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return frameTime * time.Duration(1+h.viewers/fewViewers)
}

func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.viewers > 0
}
