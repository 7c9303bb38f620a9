package matchmaking

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// Driver runs the load once.
type Driver struct {
	opts     Options
	rec      history.Recorder
	balancer *balancer
	// groupSeed is apart from the arrivals', so that one can change alone.
	groupSeed seed.Seed
	dial      loadgen.Dial
	progress  progress
}

// New checks the options and prepares a run whose events go to rec.
func New(opts Options, rec history.Recorder) (*Driver, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	d := &Driver{opts: opts, rec: rec, balancer: newBalancer(opts.Masters), groupSeed: opts.Seed.Child("groups")}
	return d, nil
}

// Run plays the whole schedule and returns when the last player was answered or
// gave up. When ctx is done it stops early.
func (d *Driver) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, d.balancer.interrupt)
	defer d.balancer.close()
	defer stop()
	return loadgen.Open(ctx, loadgen.Config{
		Pacer:       d.opts.pacer(&d.dial),
		Stop:        d.opts.Stop,
		Warmup:      d.opts.Warmup,
		Duration:    d.opts.Duration,
		StartNS:     d.opts.StartNS,
		MaxInFlight: d.opts.MaxInFlight,
		Phase: func(state string, atNS int64) {
			d.rec.Record(history.Event{Kind: history.KindPhase, State: state, AtNS: atNS})
		},
		Unsent: func(count uint64, fromNS, toNS int64) {
			d.progress.unsent.Add(count)
			d.rec.Record(history.Event{
				Kind: history.KindMatch, FromNS: fromNS, AtNS: toNS, Count: count,
				Outcome: string(locks.OutcomeFailed), Error: loadgen.ErrorNotSent,
			})
		},
	}, d.match)
}

// SetRate changes how many players arrive per second from now on, in total, and records it.
// During the warm-up the rate goes on to rise to where it was to be, that much higher or
// lower. The run must have a StartNS.
func (d *Driver) SetRate(perSecond uint32) error {
	if perSecond < 1 || perSecond > loadgen.MaxRate {
		return fmt.Errorf("rate %d: want 1 to %d a second", perSecond, loadgen.MaxRate)
	}
	now := max(clock.Mono(), d.opts.StartNS)
	d.rec.Record(history.Event{Kind: history.KindRate, AtNS: now, Count: uint64(perSecond)})
	d.dial.Turn(time.Duration(now-d.opts.StartNS), float64(perSecond)/d.opts.Rate)
	return nil
}

// Progress is a snapshot of the run. It may be called at any time.
func (d *Driver) Progress() Progress { return d.progress.snapshot() }

// match sends one player through the load balancer.
func (d *Driver) match(ctx context.Context, op loadgen.Op) {
	d.progress.sent.Add(1)
	group := d.groupOf(op.Index)
	player := d.opts.Players + strconv.FormatUint(op.Index, 10)
	ctx, span := d.opts.Tracer.Root(ctx, "match", clock.System().Now(), time.Duration(clock.Mono()-op.IntendedNS))
	node, reply, err := d.send(ctx, op, player, group)
	span.End(err, "player", player, "group", group, "outcome", string(locks.OutcomeOf(err)))

	e := history.Event{
		Kind: history.KindMatch, FromNS: op.IntendedNS, SentNS: op.SentNS, AtNS: clock.Mono(),
		Node: node, Client: player, Resource: group, Room: reply.Room, Worker: reply.Worker,
		Outcome: string(locks.OutcomeOf(err)), Error: errorKind(err),
	}
	d.rec.Record(e)
	d.progress.finished(err == nil, e.FromNS, e.AtNS)
}

// send tries one master after the other until one of them takes the request.
func (d *Driver) send(ctx context.Context, op loadgen.Op, player, group string) (node string, reply reply, err error) {
	deadline := op.SentNS + int64(d.opts.Timeout)
	outcome := locks.ErrNotAcquired
	for range len(d.opts.Masters) + 1 {
		m := d.balancer.next(clock.Mono())
		node = m.Name
		reply, err = m.match(ctx, player, group, deadline)
		if !errors.Is(err, errDown) {
			return node, reply, err
		}
		if errors.Is(err, locks.ErrUnknown) {
			outcome = locks.ErrUnknown // it may have taken a seat before it died
		}
		m.down(clock.Mono())
	}
	return node, reply, fmt.Errorf("no master answers: %w: %w", outcome, locks.ErrUnavailable)
}

// errorKind names the error as the history does: the master's own word if it
// gave one.
func errorKind(err error) string {
	var answer *answerError
	if errors.As(err, &answer) && answer.kind != "" {
		return answer.kind
	}
	switch { // the outcome has its own field, so the reason is the more telling word
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, locks.ErrUnavailable):
		return "unavailable"
	}
	return locks.ErrorKind(err)
}

// groupOf draws the group of the party that a player belongs to: the n-th party
// always gets the same group for one seed.
func (d *Driver) groupOf(player uint64) string {
	party := player / uint64(d.opts.Party)                            //nolint:gosec // validated
	draw := uint64(d.groupSeed.Child(strconv.FormatUint(party, 36)))  // well mixed
	return "g" + strconv.FormatUint(draw%uint64(d.opts.Groups)+1, 10) //nolint:gosec // validated
}
