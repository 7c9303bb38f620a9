package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/httpapi"
	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// maxEventBytes bounds what is kept for a follower that stays away.
const maxEventBytes = 64 << 20

// eventLog keeps numbered events, as JSON lines, until the follower has them.
type eventLog struct {
	max      int
	instance string // see Health

	mu      sync.Mutex
	first   uint64 // number of the first event that is kept
	next    uint64 // of the next one
	lines   []byte // appended to, and cut off in front, but never changed: safe to read without the lock
	err     error  // why the log ends at next, nil if it doesn't
	changed chan struct{}
}

func newEventLog(maxBytes int) *eventLog {
	return &eventLog{max: maxBytes, instance: httpapi.NewToken(), changed: make(chan struct{})}
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
	if len(l.lines)+len(line) >= l.max {
		l.endLocked(fmt.Errorf("event %d and later: %d bytes of events wait for a follower that stays away: %w",
			l.next, len(l.lines), ErrEventsLost))
		return
	}
	l.lines = append(append(l.lines, line...), '\n')
	l.next++
	l.wakeLocked()
}

// end makes the log end at the present number, with an error for its readers.
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

// read returns the lines from a number on. Without any it returns the channel that is closed when there may be.
// The reader has what is before: that is forgotten.
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

// newLines reads whole lines: what is cut off at the end is none.
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

// A request for events is answered as soon as there are any, and after pollTime without: an agent that lives
// says something every second. The agent forgets events when the follower asks for later ones. So a lost
// connection costs nothing.
const (
	pollTime = time.Second
	// gather is how long the first event of an answer waits for others to join it.
	gather = 4 * time.Millisecond
)

// handleEvents answers with the events from a number on. A follower names the instance that it follows, and
// has all events before that number. Others are refused: they would take events from the follower.
func (a *Agent) handleEvents(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	from, err := strconv.ParseUint(query.Get("from"), 10, 64)
	if err != nil {
		return fmt.Errorf("events: from=%q: want the number of an event, 0 for the first: %w",
			query.Get("from"), httpapi.ErrInvalid)
	}
	log := a.eventLog()
	if query.Get("instance") != log.instance {
		return fmt.Errorf("the agent of %s was restarted or reset: %w", a.cfg.Host, ErrEventsLost)
	}
	end, stop := clock.After(clock.System(), pollTime)
	defer stop()
	lines, changed, err := log.read(from)
	if err == nil && lines == nil {
		select {
		case <-changed:
			_ = clock.Sleep(r.Context(), gather) // ends early with the request
		case <-end:
		case <-r.Context().Done():
		case <-a.ctx.Done():
		}
		lines, _, err = log.read(from)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/jsonl")
	_, _ = w.Write(lines) // a follower that went away will ask again
	return nil
}

const (
	// patience is how long a follower tries to reach an agent that does not answer.
	patience = 15 * time.Second
	// answerLate is how long an answer may take of an agent whose host has not vanished.
	answerLate = 10 * time.Second
	// askAgain is the pause before an agent that did not answer is asked again.
	askAgain = 50 * time.Millisecond
)

// Follower delivers an agent's events in order, each once, over as many
// connections as it takes.
type Follower struct {
	client  *Client
	handle  func(history.Event) error
	cancel  context.CancelFunc
	done    chan struct{}
	decoder *history.Decoder

	heardNS  atomic.Int64           // clock.Mono of the last word of the agent
	next     atomic.Uint64          // number of the event to come
	instance atomic.Pointer[string] // of the agent; nil before its first word
	err      error                  // of a follower that has ended
}

// Follow starts to deliver the agent's events to handle, which is called by one
// goroutine and ends the follower by an error. Only one follower of an agent works: the agent forgets what it got.
// The context bounds the follower's life as Close does.
func (c *Client) Follow(ctx context.Context, handle func(history.Event) error) *Follower {
	ctx, cancel := context.WithCancel(ctx)
	f := &Follower{
		client: c, handle: handle, cancel: cancel, done: make(chan struct{}), decoder: history.NewDecoder(),
	}
	f.heardNS.Store(clock.Mono())
	go f.run(ctx)
	return f
}

// Heard is when the agent last said something, on clock.Mono of this process. An
// agent that lives says something every second, also when nothing happens.
func (f *Follower) Heard() int64 { return f.heardNS.Load() }

// Done is closed when the follower has ended; Err says why.
func (f *Follower) Done() <-chan struct{} { return f.done }

// Err is why the follower ended: nil while it runs and after Close, [ErrEventsLost]
// when the history has a hole, [httpapi.ErrUnreachable] when the agent is gone, or the
// error of handle.
func (f *Follower) Err() error {
	if !signals.Closed(f.done) {
		return nil
	}
	return f.err
}

// Close ends the follower and waits for it.
func (f *Follower) Close() {
	f.cancel()
	<-f.done
}

// Drain returns when every event that the agent had when it was called has been
// delivered. Call it when the nodes have been stopped, so that nothing is missed.
func (f *Follower) Drain(ctx context.Context) error {
	health, err := f.client.Health(ctx)
	for err == nil {
		next, instance := f.next.Load(), f.instance.Load()
		switch {
		case instance != nil && *instance != health.Instance:
			err = fmt.Errorf("the agent was restarted or reset: %w", ErrEventsLost)
		case next >= health.NextEvent:
			return nil
		case signals.Closed(f.done):
			if err = f.Err(); err == nil {
				err = fmt.Errorf("the follower was closed: %w", httpapi.ErrClosed)
			}
		default:
			if late := clock.Sleep(ctx, time.Millisecond); late != nil {
				err = fmt.Errorf("%d of %d delivered: %w", next, health.NextEvent, late)
			}
		}
	}
	return fmt.Errorf("drain events of %s: %w", f.client.URL(), err)
}

func (f *Follower) run(ctx context.Context) {
	defer close(f.done)
	defer f.cancel()
	for ctx.Err() == nil {
		err := f.poll(ctx)
		_, refused := errors.AsType[*httpapi.Error](err)
		unreachable := errors.Is(err, httpapi.ErrUnreachable) && !refused
		switch {
		case err == nil || ctx.Err() != nil:
		case unreachable && time.Duration(clock.Mono()-f.Heard()) <= patience:
			_ = clock.Sleep(ctx, askAgain) // the loop looks at the context
		default:
			f.err = fmt.Errorf("follow events of %s: %w", f.client.URL(), err)
			return
		}
	}
}

// poll asks for the next events and delivers them.
func (f *Follower) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerLate)
	defer cancel()
	instance := f.instance.Load()
	if instance == nil {
		health, err := f.client.Health(ctx)
		if err != nil {
			return err
		}
		instance = &health.Instance
		f.instance.Store(instance)
	}
	path := fmt.Sprintf("/v1/events?from=%d&instance=%s", f.next.Load(), url.QueryEscape(*instance))
	answer, err := f.client.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // read to its end, or given up
	in := newLines(answer.Body)
	for in.Scan() {
		var e history.Event
		if err := f.decoder.Decode(in.Bytes(), &e); err != nil {
			return fmt.Errorf("event %d: %w: %w", f.next.Load(), err, ErrEventsLost)
		}
		if err := f.handle(e); err != nil {
			return err
		}
		f.next.Add(1)
		f.heardNS.Store(clock.Mono())
	}
	if err := in.Err(); err != nil { // a line that was cut off comes again
		return f.client.Unreachable(err)
	}
	f.heardNS.Store(clock.Mono())
	return nil
}
