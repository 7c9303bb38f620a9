package master

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// hold is one grant of the lock of a group, with its traces in the history.
type hold struct {
	master   *Master
	id       string
	client   string
	resource string
	lease    locks.Lease
	err      error         // why there is no lease
	done     chan struct{} // closed when the holder stops acting
}

// errSeated is why an acquisition was called off.
var errSeated = errors.New("the player has a seat")

// acquire asks for the lock of the group in the background: the player may get a seat elsewhere meanwhile.
// Exactly one hold arrives on the channel, or one that says why it is none.
func (m *Master) acquire(ctx context.Context, client, group string) <-chan *hold {
	answered := make(chan *hold, 1)
	m.background.Go(func() {
		asked := clock.Mono()
		lease, err := m.Locker.Acquire(ctx, group)
		h := &hold{master: m, client: client, resource: group, lease: lease, err: err, done: make(chan struct{})}
		if err == nil {
			h.id = m.newID("h")
			m.background.Go(h.watch)
		}
		event := h.event(history.KindAcquire)
		event.FromNS, event.Outcome, event.Error = asked, string(locks.OutcomeOf(err)), locks.ErrorKind(err)
		if err != nil && errors.Is(context.Cause(ctx), errSeated) { // whatever else was wrong with it
			event.Error = locks.ErrorKind(context.Canceled)
		}
		m.Recorder.Record(event)
		answered <- h
	})
	return answered
}

// watch records when the holder learns that it holds no longer.
func (h *hold) watch() {
	select {
	case <-h.done:
	case <-h.lease.Lost():
		if !signals.Closed(h.done) { // closing a lock client ends its leases too, after their release
			h.master.Recorder.Record(h.event(history.KindLost))
		}
	}
}

// release stops acting at once and gives the lock back in the background: the
// player need not wait for the answer.
func (h *hold) release(ctx context.Context) {
	intent := h.event(history.KindReleasing)
	close(h.done)
	h.master.background.Go(func() {
		history.Commit(h.master.Recorder, intent)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.master.settings.ReleaseTimeout)
		defer cancel()
		err := h.lease.Release(ctx)
		event := h.event(history.KindRelease)
		event.FromNS, event.Outcome, event.Error = intent.AtNS, string(locks.OutcomeOf(err)), locks.ErrorKind(err)
		h.master.Recorder.Record(event)
		if err != nil {
			h.master.Log.Debug("release failed", slog.String("group", h.resource), slog.Any("error", err))
		}
	})
}

// event is what all events of a hold have.
func (h *hold) event(kind history.Kind) history.Event {
	event := history.Event{
		Kind:     kind,
		AtNS:     clock.Mono(),
		Node:     h.master.settings.Name,
		Client:   h.client,
		Hold:     h.id,
		Resource: h.resource,
		Messages: h.master.Locker.MessagesSent(),
	}
	if h.lease != nil {
		token, _ := h.lease.Token()
		event.Token = uint64(token)
	}
	return event
}

// newID is unique among all masters and all their lives.
func (m *Master) newID(prefix string) string {
	return prefix + "-" + m.settings.Name + "-" + m.incarnation + "-" + strconv.FormatUint(m.ids.Add(1), 10)
}

// canaryPause lies between two requests of the canary: the resolution of outages.
const canaryPause = 100 * time.Millisecond

// canary asks for a resource of the master's own until ctx ends, gives it back at once, and gives
// up after a second. The time between two grants is an outage, whatever the workload wants
// meanwhile. It passes the Tracker by: faults aimed at holders, the status and the metrics are of
// the workload only.
func (m *Master) canary(ctx context.Context) {
	for ctx.Err() == nil {
		asked := clock.Mono()
		m.askCanary(ctx, asked)
		_ = clock.Sleep(ctx, canaryPause-time.Duration(clock.Mono()-asked)) // the loop looks at ctx
	}
}

func (m *Master) askCanary(ctx context.Context, asked int64) {
	limited, cancel := context.WithTimeout(ctx, m.settings.ReleaseTimeout)
	defer cancel()
	resource := history.CanaryPrefix + m.settings.Name
	lease, err := m.Locker.locker.Acquire(limited, resource)
	if err != nil && ctx.Err() != nil {
		return // the master stops: that is no answer of the lock
	}
	m.Recorder.Record(history.Event{
		Kind: history.KindAcquire, FromNS: asked, AtNS: clock.Mono(),
		Node: m.settings.Name, Client: "canary", Resource: resource,
		Outcome: string(locks.OutcomeOf(err)), Error: locks.ErrorKind(err),
		Messages: m.Locker.MessagesSent(), Wakeups: m.Locker.Wakeups(),
	})
	if err != nil {
		return
	}
	m.background.Go(func() { // the next request does not wait for a release that has no answer
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.settings.ReleaseTimeout)
		defer cancel()
		_ = lease.Release(ctx) // where it fails, the next request waits: that is in the outage
	})
}
