package agent

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"sync"

	"locklab/internal/httpapi"
	"locklab/workloads/history"
)

// maxEventBytes bounds the events that are kept for a follower.
const maxEventBytes = 64 << 20

// eventLog keeps numbered events, as JSON lines, until the follower has them.
type eventLog struct {
	max      int
	instance string // see Health

	mu      sync.Mutex
	first   uint64 // number of the first event in lines
	next    uint64 // number of the next event
	lines   []byte // only appended to, and cut off at the front: safe to read without the lock
	err     error  // why the log ends at next; nil while it is open
	changed chan struct{}
}

func newEventLog(maxBytes int) *eventLog {
	return &eventLog{max: maxBytes, instance: httpapi.NewToken(), changed: make(chan struct{})}
}

// record adds an event of the agent's own.
func (l *eventLog) record(e history.Event) { l.add(history.AppendJSON(nil, &e)) }

// add appends a copy of one event, a line without its line feed.
func (l *eventLog) add(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	if len(l.lines)+len(line) >= l.max {
		l.endLocked(fmt.Errorf("event %d and later: %d bytes of events wait for a follower that stays away: %w",
			l.next, len(l.lines), ErrEventsLost))
		return
	}
	l.lines = append(append(l.lines, line...), '\n')
	l.next++
	l.wakeLocked()
}

// end closes the log, with an error for its readers.
func (l *eventLog) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked(err)
}

func (l *eventLog) endLocked(err error) {
	l.err = err
	l.wakeLocked()
}

func (l *eventLog) wakeLocked() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// read returns the events from a number on, and forgets those before. If there are none, it returns a channel
// that is closed when there may be.
func (l *eventLog) read(from uint64) (lines []byte, changed <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case from > l.next:
		return nil, nil, fmt.Errorf("events from %d: the next one will be %d: want at most that: %w",
			from, l.next, httpapi.ErrInvalid)
	case from < l.first:
		return nil, nil, fmt.Errorf("event %d: the follower has it, and it is gone: %w", from, ErrEventsLost)
	}
	lines = l.lines
	for range from - l.first {
		lines = lines[bytes.IndexByte(lines, '\n')+1:]
	}
	l.first, l.lines = from, lines
	if len(lines) == 0 {
		return nil, l.changed, l.err
	}
	return lines, nil, nil
}

func (l *eventLog) nextNumber() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}

// maxLine bounds one event of a node, or one answer.
const maxLine = 1 << 20

// newLines reads whole lines. It drops an incomplete last line.
func newLines(from io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 32<<10), maxLine)
	lines.Split(func(data []byte, _ bool) (int, []byte, error) {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return 0, nil, nil
		}
		return end + 1, data[:end], nil
	})
	return lines
}
