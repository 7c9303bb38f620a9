package master

import (
	"context"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

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
	limited, cancel := context.WithTimeout(ctx, m.settings.CanaryTimeout)
	defer cancel()
	resource := history.CanaryPrefix + m.settings.Name
	lease, err := m.locker.locker.Acquire(limited, resource)
	if err != nil && ctx.Err() != nil {
		return // the master stops: that is no answer of the lock
	}
	m.recorder.Record(history.Event{
		Kind: history.KindAcquire, FromNS: asked, AtNS: clock.Mono(), Node: m.settings.Name, Client: "canary", Resource: resource,
		Outcome: string(locks.OutcomeOf(err)), Error: locks.ErrorKind(err), Messages: m.locker.MessagesSent(), Wakeups: m.locker.Wakeups(),
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
