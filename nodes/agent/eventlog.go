package agent

import (
	"bytes"
	"fmt"
	"sync"

	"locklab/internal/httpapi"
	"locklab/workloads/history"
)

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

// end makes the log end at the present number with an error for who reads on.
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
