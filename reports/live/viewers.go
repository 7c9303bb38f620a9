package live

import (
	"sync"

	"github.com/go-json-experiment/json"
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

// rendered is a part, and as JSON, which is made once for all viewers.
type rendered struct {
	html string
	line []byte
}

// viewer is a browser that looks. Its mailbox keeps the newest of every part.
type viewer struct {
	view
	more chan struct{} // there is something in the mailbox, or it is closed

	mu      sync.Mutex
	waiting map[string][]byte // by part, as JSON
	order   []string          // of the parts that wait
	closed  bool
}

// hub knows who looks.
type hub struct {
	mu      sync.Mutex
	viewers map[*viewer]struct{}
	shown   map[view]map[string]rendered // the newest of every part
	ended   bool
}

// join adds a viewer, which gets everything with the next frame, or at once what others
// of its kind have seen.
func (h *hub) join(v view) *viewer {
	one := &viewer{view: v, more: make(chan struct{}, 1), waiting: map[string][]byte{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range partIDs() {
		if now, there := h.shown[v][id]; there {
			one.put(id, now.line)
		}
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

func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.viewers) > 0
}

// views are what is looked at.
func (h *hub) views() map[view]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[view]bool{}
	for one := range h.viewers {
		all[one.view] = true
	}
	return all
}

// show renders what is looked at, once for all who look at the same, and gives them what
// has changed.
func (h *hub) show(p *painter, m *model, nowNS int64) {
	for v := range h.views() {
		parts := p.paint(v, m, nowNS)
		h.mu.Lock()
		if h.shown == nil {
			h.shown = map[view]map[string]rendered{}
		}
		before := h.shown[v]
		if before == nil {
			before = map[string]rendered{}
		}
		for _, one := range parts {
			if before[one.ID].html == one.HTML {
				continue
			}
			line, err := json.Marshal(one)
			if err != nil {
				continue // two strings are always JSON
			}
			before[one.ID] = rendered{one.HTML, line}
			for viewer := range h.viewers {
				if viewer.view == v {
					viewer.put(one.ID, line)
				}
			}
		}
		h.shown[v] = before
		h.mu.Unlock()
	}
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

func (v *viewer) put(id string, line []byte) {
	v.mu.Lock()
	if _, there := v.waiting[id]; !there {
		v.order = append(v.order, id)
	}
	v.waiting[id] = line
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
	select {
	case v.more <- struct{}{}:
	default:
	}
}

// take empties the mailbox into a JSON list; nil if nothing waits. Closed says that nothing
// will follow.
func (v *viewer) take() (list []byte, closed bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, id := range v.order {
		list = append(append(list, "[,"[min(i, 1)]), v.waiting[id]...)
	}
	if list != nil {
		list = append(list, ']')
	}
	clear(v.waiting)
	v.order = v.order[:0]
	return list, v.closed
}
