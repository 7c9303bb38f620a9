package mutex

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"locklab/internal/seed"
	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// runner runs one load against one lock client.
type runner struct {
	Config
	load   Load
	life   string   // of this process, so that the ids of holds differ after a restart
	names  []string // of the resources
	over   int64    // on clock.Mono: when waiting and holding clients are called off; 0 is never
	cancel context.CancelFunc
	done   chan struct{} // closed when all is over
	holds  atomic.Uint64
}

// startRunner runs the load until it is over, or ctx is.
func startRunner(ctx context.Context, load Load, c Config) *runner {
	r := &runner{Config: c, load: load, life: strconv.FormatInt(clock.Mono(), 36), done: make(chan struct{})}
	for i := range load.Resources {
		r.names = append(r.names, "r"+strconv.Itoa(i+1))
	}
	ctx, r.cancel = context.WithCancel(ctx)
	go func() {
		defer close(r.done)
		defer r.cancel()
		r.run(ctx)
	}()
	return r
}

// status of a nil runner: no load was started.
func (r *runner) status() Status {
	switch {
	case r == nil:
		return Status{StateIdle}
	case signals.Closed(r.done):
		return Status{StateDone}
	}
	return Status{StateRunning}
}

// run returns when the load is over, or ctx is, and everything was released.
func (r *runner) run(ctx context.Context) {
	rest := r.load.Warmup + r.load.Duration - r.load.Elapsed
	clients := r.clients()
	if r.load.Rate == 0 {
		r.over = clock.Mono() + int64(rest+r.lastAnswers())
		// Clients that begin together would all hold, and let go, at the same time.
		apart := min(r.load.Hold, rest/4) / time.Duration(len(clients))
		loadgen.Closed(ctx, rest, len(clients), func(ctx context.Context, n int, op loadgen.Op) {
			if c := clients[n]; !c.begun {
				c.begun = true
				_ = clock.Sleep(ctx, apart*time.Duration(n)) // a cycle that begins late is called off
				op.IntendedNS = clock.Mono()
				op.SentNS = op.IntendedNS
			}
			r.cycle(ctx, clients[n], op)
		})
		return
	}
	idle := make(chan *client, len(clients))
	for _, c := range clients {
		idle <- c
	}
	arrivals := r.seed().Child("arrivals").Child(r.load.Elapsed.String())
	cfg := loadgen.Config{
		Duration: rest, // the checker knows the measured part from the phases
		Unsent: func(count uint64, fromNS, toNS int64) {
			r.Recorder.Record(history.Event{
				Kind: history.KindAcquire, FromNS: fromNS, AtNS: toNS, Node: r.Node, Count: count,
				Outcome: string(locks.OutcomeFailed), Error: loadgen.ErrorNotSent,
			})
		},
	}
	// Without a precise timer no operation is sent, which the verdict says.
	_ = loadgen.Open(ctx, cfg, loadgen.Poisson(r.load.Rate, arrivals), func(ctx context.Context, op loadgen.Op) {
		select {
		case c := <-idle:
			op.SentNS = clock.Mono() // it waited for a client: that is queueing, not the lock
			r.cycle(ctx, c, op)
			idle <- c
		case <-ctx.Done():
		}
	})
}

// lastAnswers is how long a closed loop waits for answers when its time is over. A client that waits longer waits
// for a holder, which says nothing about the measured part.
func (r *runner) lastAnswers() time.Duration { return cmp.Or(r.load.Second, time.Second) / 4 }

// within limits ctx to the time, and to the end of the closed loop.
func (r *runner) within(ctx context.Context, limit time.Duration) (limited context.Context, cancel context.CancelFunc) {
	if r.over != 0 {
		limit = min(limit, time.Duration(r.over-clock.Mono()))
	}
	return context.WithTimeout(ctx, limit)
}

// seed is this master's own: masters must not request resources in step.
func (r *runner) seed() seed.Seed { return r.load.Seed.Child("mutex").Child(r.Node) }

// client does one thing at a time.
type client struct {
	name   string
	random *rand.Rand
	begun  bool
}

func (r *runner) clients() []*client {
	clients := make([]*client, r.load.Clients)
	for i := range clients {
		name := r.Node + "/c" + strconv.Itoa(i+1)
		clients[i] = &client{name: name, random: r.seed().Child(name).Rand()}
	}
	return clients
}

// cycle acquires, holds and releases once.
func (r *runner) cycle(ctx context.Context, c *client, op loadgen.Op) {
	resource := r.names[c.random.IntN(len(r.names))]
	acquireCtx, cancel := r.within(ctx, r.load.Timeout)
	defer cancel()
	lease, err := r.Locker.Acquire(acquireCtx, resource)
	e := history.Event{
		Kind: history.KindAcquire, FromNS: op.IntendedNS, SentNS: op.SentNS, AtNS: clock.Mono(),
		Node: r.Node, Client: c.name, Resource: resource,
		Outcome: string(locks.OutcomeOf(err)), Error: locks.ErrorKind(err), Messages: r.messages(),
	}
	if counter, ok := r.Locker.(locks.WakeupCounter); ok {
		e.Wakeups = counter.Wakeups()
	}
	if err != nil {
		cut := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
		cut = cut && !errors.Is(err, locks.ErrUnavailable)
		late := r.over != 0 && e.AtNS >= r.over && e.AtNS-op.SentNS < int64(r.load.Timeout)
		if cut && (late || ctx.Err() != nil) { // the time was over, or the run was ended
			e.Error = loadgen.ErrorCalledOff
		}
		r.Recorder.Record(e)
		r.backOff(ctx, op)
		return
	}
	e.Hold = "h-" + r.Node + "-" + r.life + "-" + strconv.FormatUint(r.holds.Add(1), 36)
	if token, ok := lease.Token(); ok {
		e.Token = uint64(token)
	}
	if !r.load.Writes {
		r.Recorder.Record(e)
		if r.Granted != nil {
			r.Granted(resource)
		}
		r.hold(ctx, lease, &e)
	} else {
		history.Commit(r.Recorder, e) // the hold must be on record before what is done under it
		r.use(ctx, lease, &e)
	}
	r.release(ctx, lease, &e)
}

// hold acts as the holder until the time is over or the lease is lost.
func (r *runner) hold(ctx context.Context, lease locks.Lease, acquired *history.Event) {
	if r.load.Hold > 0 {
		held, cancel := r.within(ctx, r.load.Hold)
		defer cancel()
		select {
		case <-held.Done():
		case <-lease.Lost():
		}
	}
	if signals.Closed(lease.Lost()) {
		r.lost(acquired)
	}
}

// use calls Use, and records at once if the hold is lost meanwhile.
func (r *runner) use(ctx context.Context, lease locks.Lease, acquired *history.Event) {
	done, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		select {
		case <-lease.Lost():
			r.lost(acquired)
		case <-done:
		}
	}()
	r.Use(ctx, &Held{
		Lease: lease, Load: &r.load, ID: acquired.Hold, Resource: acquired.Resource, Fence: locks.Token(acquired.Token),
	})
	close(done)
	<-told
}

func (r *runner) lost(acquired *history.Event) {
	r.Recorder.Record(after(acquired, history.KindLost))
}

func (r *runner) release(ctx context.Context, lease locks.Lease, acquired *history.Event) {
	intent := after(acquired, history.KindReleasing)
	history.Commit(r.Recorder, intent)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.load.Timeout)
	defer cancel()
	err := lease.Release(ctx)
	e := after(acquired, history.KindRelease)
	e.FromNS, e.Messages = intent.AtNS, r.messages()
	e.Outcome, e.Error = string(locks.OutcomeOf(err)), locks.ErrorKind(err)
	r.Recorder.Record(e)
}

// after returns an event of the hold, for the present time.
func after(acquired *history.Event, kind history.Kind) history.Event {
	return history.Event{
		Kind: kind, AtNS: clock.Mono(), Node: acquired.Node, Client: acquired.Client,
		Hold: acquired.Hold, Resource: acquired.Resource, Token: acquired.Token,
	}
}

// backOff keeps the closed loop from spinning against a lock that refuses at once.
func (r *runner) backOff(ctx context.Context, op loadgen.Op) {
	const pause = 10 * time.Millisecond
	if r.load.Rate > 0 || clock.Mono()-op.SentNS > int64(pause) {
		return
	}
	_ = clock.Sleep(ctx, pause) // the caller looks at the context
}

// messages is 0 if the locker does not count them.
func (r *runner) messages() uint64 {
	if c, ok := r.Locker.(locks.MessageCounter); ok {
		return c.MessagesSent()
	}
	return 0
}
