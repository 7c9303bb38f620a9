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

// hold is one grant of the lock of a group, with its events in the history.
type hold struct {
	master   *Master
	id       string
	client   string
	resource string
	lease    locks.Lease
	err      error         // why there is no lease
	done     chan struct{} // closed when the holder stops acting
}

// errSeated is the cause of a canceled acquisition.
var errSeated = errors.New("the player has a seat")

// acquire requests the lock of the group in the background, since the player may get a seat elsewhere meanwhile.
// Exactly one hold arrives on the channel, with a lease or an error.
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
		if err != nil && errors.Is(context.Cause(ctx), errSeated) { // this master canceled it
			event.Error = locks.ErrorKind(context.Canceled)
		}
		m.Recorder.Record(event)
		answered <- h
	})
	return answered
}

// watch records when the holder learns that it lost the lock.
func (h *hold) watch() {
	select {
	case <-h.done:
	case <-h.lease.Lost():
		if !signals.Closed(h.done) { // closing a lock client also closes Lost of released leases
			h.master.Recorder.Record(h.event(history.KindLost))
		}
	}
}

// release ends the hold at once and releases the lock in the background, so that the
// player does not wait for the answer.
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

// event returns the common fields of a hold's events.
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

// newID returns an ID that is unique among all masters and their incarnations.
func (m *Master) newID(prefix string) string {
	return prefix + "-" + m.settings.Name + "-" + m.incarnation + "-" + strconv.FormatUint(m.ids.Add(1), 10)
}

// canaryPause is the pause between two requests of the canary: the resolution of outages.
const canaryPause = 100 * time.Millisecond

// canary acquires and releases a resource of the master's own until ctx ends; each attempt gives up
// after ReleaseTimeout. The time between two grants is an outage, even if the workload requests nothing. It
// bypasses the Tracker: faults aimed at holders, the status and the metrics see only the workload.
func (m *Master) canary(ctx context.Context) {
	for ctx.Err() == nil {
		asked := clock.Mono()
		m.askCanary(ctx, asked)
		_ = clock.Sleep(ctx, canaryPause-time.Duration(clock.Mono()-asked)) // the loop checks ctx
	}
}

func (m *Master) askCanary(ctx context.Context, asked int64) {
	limited, cancel := context.WithTimeout(ctx, m.settings.ReleaseTimeout)
	defer cancel()
	resource := history.CanaryPrefix + m.settings.Name
	lease, err := m.Locker.locker.Acquire(limited, resource)
	if err != nil && ctx.Err() != nil {
		return // the master stops: the error says nothing about the lock
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
	m.background.Go(func() { // so that the next request does not wait for the answer
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.settings.ReleaseTimeout)
		defer cancel()
		_ = lease.Release(ctx) // if it fails, the next request waits, which counts as an outage
	})
}
