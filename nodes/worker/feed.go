package worker

import (
	"cmp"
	"slices"

	"locklab/internal/httpapi"
	"locklab/internal/signals"
)

// feed is one follower of the rooms. Changes wait in it, each room once, until the
// follower takes them: however slow it is, it costs no more than the rooms there are.
type feed struct {
	table *rooms
	dirty map[*room]struct{} // guarded by rooms.mu
	last  uint64             // rev of the last line, guarded by rooms.mu
	wake  chan struct{}      // has a token while something may be dirty
	news  chan struct{}      // has a token while a room may have begun or ended meanwhile
}

// subscribe starts a feed and gives its first line. The caller must unsubscribe.
func (h *rooms) subscribe() (*feed, FeedLine, *httpapi.Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, FeedLine{}, refuse(KindStopping, "the worker is going down")
	}
	if len(h.feeds) >= feedsMax {
		return nil, FeedLine{}, refuse(KindBusy, "%d feeds are being followed already", len(h.feeds))
	}
	f := &feed{table: h, dirty: map[*room]struct{}{}, last: h.rev, wake: make(chan struct{}, 1), news: make(chan struct{}, 1)}
	h.feeds[f] = struct{}{}
	line := h.line(LineSnapshot)
	line.Rooms = h.allLive()
	return f, line, nil
}

func (f *feed) unsubscribe() {
	f.table.mu.Lock()
	defer f.table.mu.Unlock()
	delete(f.table.feeds, f)
}

// add marks a room as changed; news is a change of its state. The caller holds
// rooms.mu.
func (f *feed) add(r *room, news bool) {
	f.dirty[r] = struct{}{}
	signals.Wake(f.wake)
	if news {
		signals.Wake(f.news)
	}
}

// take is the next line: what changed since the last, or a beat.
func (f *feed) take() FeedLine {
	f.table.mu.Lock()
	defer f.table.mu.Unlock()
	kind := LineChange
	if len(f.dirty) == 0 {
		kind = LineBeat
	}
	line := f.table.line(kind)
	line.Prev, f.last = f.last, line.Rev
	for r := range f.dirty {
		line.Rooms = append(line.Rooms, f.table.view(r))
	}
	clear(f.dirty)
	slices.SortFunc(line.Rooms, func(a, b Room) int { return cmp.Compare(a.Rev, b.Rev) })
	return line
}

// line is an empty line. The caller holds mu.
func (h *rooms) line(kind LineType) FeedLine {
	return FeedLine{
		Type: kind, Worker: h.settings.Name, Incarnation: h.incarnation,
		Rev: h.rev, Live: h.live,
	}
}
