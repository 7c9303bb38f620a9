package agent

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// An events answer is a segment of the stream: it ends after segmentTime or
// segmentBytes, and the agent forgets it when the follower asks for the next. So the agent keeps about a
// second of events, a lost connection costs nothing, and a reader that names no instance takes nothing.
const (
	segmentTime  = time.Second
	segmentBytes = 4 << 20
	// gather is how long the first event of a write waits for others to join it.
	gather = 2 * time.Millisecond
	// stalled is how long a follower may take to read what it was sent.
	stalled = 10 * time.Second
)

// instanceHeader names the agent's instance in the answer to an events request.
const instanceHeader = "Locklab-Instance"

func (a *Agent) handleEvents(w http.ResponseWriter, r *http.Request) error {
	log, instance, from, err := a.openStream(r)
	if err != nil {
		return err
	}
	w.Header().Set(instanceHeader, instance)
	w.Header().Set("Content-Type", "application/jsonl")
	segment := clock.System().NewTimer(segmentTime)
	defer segment.Stop()
	out := http.NewResponseController(w)
	for sent := 0; sent < segmentBytes; {
		lines, next, changed, err := log.read(from)
		switch {
		case err != nil && sent == 0:
			return err
		case err != nil:
			return nil // after events, the next request gets it
		case lines == nil:
			select {
			case <-changed:
				_ = clock.Sleep(r.Context(), gather) // ends early with the request
				continue
			case <-segment.C():
			case <-r.Context().Done():
			case <-a.ctx.Done():
			}
			if sent == 0 {
				w.WriteHeader(http.StatusOK)
			}
			return nil
		}
		_ = out.SetWriteDeadline(clock.System().Now().Add(stalled)) // sockets have deadlines
		if _, err := w.Write(lines); err != nil {
			return nil // the follower went away and will ask again
		}
		sent += len(lines)
		from = next
		if err := out.Flush(); err != nil {
			return nil
		}
	}
	return nil
}

// openStream says which log is asked for, from which event on. A follower, which names the instance
// that it follows, has what is before.
func (a *Agent) openStream(r *http.Request) (log *eventLog, instance string, from uint64, err error) {
	query := r.URL.Query()
	from, err = strconv.ParseUint(query.Get("from"), 10, 64)
	if err != nil {
		return nil, "", 0, fmt.Errorf("events: from=%q: want the number of an event, 0 for the first: %w", query.Get("from"), httpapi.ErrInvalid)
	}
	a.mu.Lock()
	log, instance = a.log, a.instance
	a.mu.Unlock()
	switch asked := query.Get("instance"); asked {
	case "":
		return log, instance, from, log.has(from)
	case instance:
		return log, instance, from, log.acknowledge(from)
	default:
		return nil, "", 0, fmt.Errorf("the agent of %s was restarted or reset: %w", a.cfg.Host, ErrEventsLost)
	}
}

// maxEventBytes bounds what is kept for a follower that stays away.
const maxEventBytes = 64 << 20

// chunkSize is how many bytes of events are kept together; what is acknowledged is
// freed a chunk at a time.
const chunkSize = 64 << 10

// eventLog keeps numbered events, as JSON lines, until they are acknowledged.
type eventLog struct {
	max int

	mu      sync.Mutex
	chunks  []chunk
	next    uint64 // number of the next event
	bytes   int
	err     error         // why the log ends at next, nil if it doesn't
	changed chan struct{} // closed at the next change
}

type chunk struct {
	first uint64 // number of its first event
	lines []byte
	count uint64
}

func newEventLog(maxBytes int) *eventLog {
	return &eventLog{max: maxBytes, changed: make(chan struct{})}
}

// record adds an event of the agent's own.
func (l *eventLog) record(e history.Event) { l.add(history.AppendJSON(nil, &e)) }

// add appends one event, a line without its line feed, which is copied.
func (l *eventLog) add(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	size := len(line) + 1
	if l.bytes+size > l.max {
		l.endLocked(fmt.Errorf("event %d and later: %d bytes of events wait for a follower that stays away: %w", l.next, l.bytes, ErrEventsLost))
		return
	}
	if n := len(l.chunks); n == 0 || len(l.chunks[n-1].lines)+size > chunkSize {
		l.chunks = append(l.chunks, chunk{first: l.next, lines: make([]byte, 0, max(4<<10, size))})
	}
	c := &l.chunks[len(l.chunks)-1]
	c.lines = append(append(c.lines, line...), '\n')
	c.count++
	l.next++
	l.bytes += size
	l.wakeLocked()
}

// end makes the log end at the present number, with an error for its readers.
func (l *eventLog) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked(err)
}

func (l *eventLog) endLocked(err error) {
	if l.err == nil {
		l.err = err
		l.wakeLocked()
	}
}

func (l *eventLog) wakeLocked() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// has refuses a number that no event has yet, but for the next one's.
func (l *eventLog) has(from uint64) error {
	if next := l.nextNumber(); from > next {
		return fmt.Errorf("events from %d: the next one will be %d: want at most that: %w", from, next, httpapi.ErrInvalid)
	}
	return nil
}

// acknowledge frees what lies wholly below a number.
func (l *eventLog) acknowledge(from uint64) error {
	if err := l.has(from); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	drop := 0
	for drop < len(l.chunks) && l.chunks[drop].first+l.chunks[drop].count <= from {
		l.bytes -= len(l.chunks[drop].lines)
		drop++
	}
	l.chunks = append([]chunk(nil), l.chunks[drop:]...)
	return nil
}

// read returns the lines from a number on, at most a chunk of them, and the number
// after them. Without any it returns the channel that is closed when there may be.
func (l *eventLog) read(from uint64) (lines []byte, next uint64, changed <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if from >= l.next {
		return nil, from, l.changed, l.err
	}
	for _, c := range l.chunks {
		if from < c.first {
			break
		}
		if from < c.first+c.count {
			lines = c.lines // appended to, but never changed: safe to read without the lock
			for range from - c.first {
				lines = lines[bytes.IndexByte(lines, '\n')+1:]
			}
			return lines, c.first + c.count, nil, nil
		}
	}
	return nil, from, nil, fmt.Errorf("event %d: it was acknowledged and is gone: %w", from, ErrEventsLost)
}

func (l *eventLog) nextNumber() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}
