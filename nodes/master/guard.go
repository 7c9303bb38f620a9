package master

import (
	"context"
	"errors"
	"log/slog"
	"strconv"

	"locklab/internal/signals"
	"locklab/internal/tracing"
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
	done     chan struct{} // closed when the holder stops acting
}

// grant is the answer to an acquisition.
type grant struct {
	hold *hold
	err  error
}

// errSeated is why an acquisition was called off.
var errSeated = errors.New("the player has a seat")

// acquire asks for the lock of the group in the background: the player may get a seat elsewhere meanwhile.
// Exactly one grant arrives on the channel.
func (m *Master) acquire(ctx context.Context, client, group string) <-chan grant {
	answered := make(chan grant, 1)
	m.background.Go(func() {
		ctx, span := m.tracer.Begin(ctx, "acquire lock", tracing.Client)
		asked := clock.Mono()
		lease, err := m.locker.Acquire(ctx, group)
		span.End(err, "lock", m.settings.Lock, "group", group, "outcome", string(locks.OutcomeOf(err)))
		event := history.Event{
			Kind:     history.KindAcquire,
			FromNS:   asked,
			AtNS:     clock.Mono(),
			Node:     m.settings.Name,
			Client:   client,
			Resource: group,
			Outcome:  string(locks.OutcomeOf(err)),
			Error:    locks.ErrorKind(err),
			Messages: m.locker.MessagesSent(),
		}
		if err != nil && errors.Is(context.Cause(ctx), errSeated) { // whatever else was wrong with it
			event.Error = locks.ErrorKind(context.Canceled)
		}
		if err != nil {
			m.recorder.Record(event)
			answered <- grant{err: err}
			return
		}
		h := &hold{
			master: m, id: m.newID("h"), client: client, resource: group,
			lease: lease, done: make(chan struct{}),
		}
		event.Hold = h.id
		if token, ok := lease.Token(); ok {
			event.Token = uint64(token)
		}
		m.recorder.Record(event)
		m.background.Go(h.watch)
		answered <- grant{hold: h}
	})
	return answered
}

// discard gives back what an abandoned acquisition may still bring.
func (m *Master) discard(ctx context.Context, answered <-chan grant) {
	m.background.Go(func() {
		if g := <-answered; g.hold != nil {
			g.hold.release(ctx)
		}
	})
}

// watch records when the holder learns that it holds no longer.
func (h *hold) watch() {
	select {
	case <-h.done:
	case <-h.lease.Lost():
		select {
		case <-h.done: // closing a lock client ends its leases too, after their release
			return
		default:
		}
		h.master.recorder.Record(h.event(history.KindLost))
	}
}

// lost says whether the holder must not act any more.
func (h *hold) lost() bool {
	if signals.Closed(h.lease.Lost()) {
		return true
	}
	until, limited := h.lease.Expires()
	return limited && !clock.System().Now().Before(until)
}

// release stops acting at once and gives the lock back in the background: the
// player need not wait for the answer.
func (h *hold) release(ctx context.Context) {
	stopped := clock.Mono()
	close(h.done)
	h.master.background.Go(func() {
		intent := h.event(history.KindReleasing)
		intent.AtNS = stopped
		history.Commit(h.master.recorder, intent)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.master.settings.ReleaseTimeout)
		defer cancel()
		err := h.lease.Release(ctx)
		event := h.event(history.KindRelease)
		event.FromNS = stopped
		event.Outcome = string(locks.OutcomeOf(err))
		event.Error = locks.ErrorKind(err)
		h.master.recorder.Record(event)
		if err != nil {
			h.master.log.Debug("release failed", slog.String("group", h.resource), slog.Any("error", err))
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
		Messages: h.master.locker.MessagesSent(),
	}
	if token, ok := h.lease.Token(); ok {
		event.Token = uint64(token)
	}
	return event
}

// newID is unique among all masters and all their lives.
func (m *Master) newID(prefix string) string {
	return prefix + "-" + m.settings.Name + "-" + m.incarnation + "-" + strconv.FormatUint(m.ids.Add(1), 10)
}
