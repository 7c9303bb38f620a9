package live

import (
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/signals"
)

// view is what all viewers of a kind see alike.
type view struct {
	lang   string
	narrow bool // for a phone
}

// part is a part of the page, as it is now.
type part struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// rendered is a part, and as JSON.
type rendered struct {
	part
	line []byte
}

// frame is what has changed, for all who look at the same.
type frame struct {
	parts []rendered
	sent  []byte // as all get it; nil in what was put together of several
}

func newFrame(parts []rendered) *frame {
	f := &frame{parts: parts, sent: []byte("event: parts\ndata: ")}
	for i, one := range parts {
		f.sent = append(append(f.sent, "[,"[min(i, 1)]), one.line...)
	}
	f.sent = append(f.sent, "]\n\n"...)
	return f
}

// and has the newest of each part of both; a nil frame has none.
func (f *frame) and(newer *frame) *frame {
	if f == nil {
		return newer
	}
	both := slices.Clone(newer.parts)
	for _, old := range f.parts {
		if !slices.ContainsFunc(newer.parts, func(one rendered) bool { return one.ID == old.ID }) {
			both = append(both, old)
		}
	}
	return &frame{parts: both}
}

// viewer is a browser that looks. Its mailbox keeps the newest of every part.
type viewer struct {
	view
	more chan struct{} // there is something in the mailbox, or it is closed
	turn time.Duration // it is written to so long after it got something

	mu      sync.Mutex
	waiting *frame // nil is nothing
	closed  bool
}

// turns spread the writes to all who look over the time between two frames: at once they
// would stop whatever the machine is measuring.
const turns = 16

// hub knows who looks.
type hub struct {
	mu      sync.Mutex
	viewers map[*viewer]struct{}
	joined  int             // viewers so far
	shown   map[view]*frame // the newest of every part
	ended   bool
}

// join adds a viewer, which gets everything with the next frame, or at once what others
// of its kind have seen.
func (h *hub) join(v view) *viewer {
	one := &viewer{view: v, more: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	one.turn = time.Duration(h.joined%turns) * frameTime / turns
	h.joined++
	if now := h.shown[v]; now != nil {
		one.put(&frame{parts: now.parts})
	}
	if h.ended {
		one.end()
		return one
	}
	h.viewers[one] = struct{}{}
	return one
}

func (h *hub) leave(one *viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.viewers, one)
	if !h.sees(one.view) {
		delete(h.shown, one.view) // it would grow old
	}
}

func (h *hub) sees(v view) bool {
	for one := range h.viewers {
		if one.view == v {
			return true
		}
	}
	return false
}

// fewViewers is from how many on there is only one frame in two; from twice as many on, one in
// three, and so on: what they cost the machine that measures stays within bounds.
const fewViewers = 8

// pace is the time between two frames.
func (h *hub) pace() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return frameTime * time.Duration(1+len(h.viewers)/fewViewers)
}

func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.viewers) > 0
}

// views are what is looked at, with the newest of it; nil if there is none yet.
func (h *hub) views() map[view]*frame {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[view]*frame{}
	for one := range h.viewers {
		all[one.view] = h.shown[one.view]
	}
	return all
}

// show renders what is looked at, once for all who look at the same, and gives them what
// has changed.
//
// Charts are drawn if they are due, or if nobody of a kind has any.
func (h *hub) show(p *painter, m *model, nowNS int64, charts bool) {
	for v, before := range h.views() {
		parts := p.paint(v, m, nowNS, charts || before == nil)
		h.mu.Lock()
		if changed := before.changed(parts); len(changed) > 0 {
			news := newFrame(changed)
			h.shown[v] = before.and(news)
			for viewer := range h.viewers {
				if viewer.view == v {
					viewer.put(news)
				}
			}
		}
		h.mu.Unlock()
	}
}

// changed are the parts that are not as they were; a nil frame had none.
func (f *frame) changed(parts []part) (all []rendered) {
	for _, one := range parts {
		if f != nil && slices.ContainsFunc(f.parts, func(was rendered) bool { return was.part == one }) {
			continue
		}
		if line, err := json.Marshal(one); err == nil { // two strings are always JSON
			all = append(all, rendered{one, line})
		}
	}
	return all
}

// close lets all viewers go once they have what waits for them.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for one := range h.viewers {
		one.end()
	}
}

func (v *viewer) put(f *frame) {
	v.mu.Lock()
	v.waiting = v.waiting.and(f)
	v.mu.Unlock()
	v.ring()
}

func (v *viewer) end() {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.ring()
}

func (v *viewer) ring() {
	signals.Wake(v.more)
}

// take empties the mailbox; it is nil if nothing waits. Closed says that nothing will follow.
func (v *viewer) take() (sent []byte, closed bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if f := v.waiting; f != nil {
		if f.sent == nil {
			f = newFrame(f.parts)
		}
		v.waiting, sent = nil, f.sent
	}
	return sent, v.closed
}
