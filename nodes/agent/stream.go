package agent

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
)

// An events answer is a segment of the stream: it ends after segmentTime or
// segmentBytes, and the follower then has the agent forget what it got. So the agent
// keeps about a second of events, a lost connection costs nothing, and one who only
// reads takes nothing from the follower.
const (
	segmentTime  = time.Second
	segmentBytes = 4 << 20
	// gather is how long the first event of a write waits for others to join it.
	gather = 2 * time.Millisecond
	// stalled is how long a follower may take to read what it was sent.
	stalled = 10 * time.Second
)

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
				_ = a.sleep(r.Context(), gather) // ends early with the request or the agent
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

// openStream says which log is asked for, from which event on.
func (a *Agent) openStream(r *http.Request) (log *eventLog, instance string, from uint64, err error) {
	query := r.URL.Query()
	from, err = strconv.ParseUint(query.Get("from"), 10, 64)
	if err != nil {
		return nil, "", 0, fmt.Errorf("events: from=%q: want the number of an event, 0 for the first: %w", query.Get("from"), httpapi.ErrInvalid)
	}
	log, instance, err = a.logOf(query.Get("instance"))
	if err == nil {
		err = log.has(from)
	}
	return log, instance, from, err
}

// logOf is the event log, and the instance that it belongs to: the one that is asked
// for, or any for "".
func (a *Agent) logOf(asked string) (log *eventLog, instance string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if asked != "" && asked != a.instance {
		return nil, "", fmt.Errorf("the agent of %s was restarted or reset: %w", a.cfg.Host, ErrEventsLost)
	}
	return a.log, a.instance, nil
}

func (a *Agent) handleForget(_ *http.Request, in forgetRequest) (any, error) {
	if in.Instance == "" {
		return nil, fmt.Errorf("forget events: instance is missing: want the one whose events were taken: %w", httpapi.ErrInvalid)
	}
	log, _, err := a.logOf(in.Instance)
	if err != nil {
		return nil, err
	}
	return nil, log.acknowledge(in.Below)
}
