// Package matchmaking plays the players. They arrive in parties for groups, and each goes to one of the masters,
// as behind a load balancer. Every master's answer is recorded, with its time. Only the oracle on the workers sees
// whether a group got one room or five.
//
//	party of 3, group 7 ──▶ round robin ──▶ master-a  POST /v1/match
//	at one instant                     ├──▶ master-c       {"player":"p12","group":"g7"}
//	                                   └──▶ master-a  ◀── 200 {"room":..., "worker":..., ...}
//	                                                      503 {"error":{"kind":..., "message":...}, "outcome":"failed"}
//
// How a request ends:
//
//   - 200: ok. 503: failed or unknown, as the master says. Anything else: unknown.
//   - Nothing within the timeout: unknown, and not tried again.
//   - The master refuses the connection or breaks it: it will never answer this
//     player, so the master counts as down for 200 ms and the player goes to
//     the next one at once, as behind any load balancer. When all refuse: failed.
//
// One event of kind match is recorded for each player, and the phases of the run.
package matchmaking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"locklab/internal/httpapi"
	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// Options describe the load.
type Options struct {
	Masters []loadgen.Master
	// Rate is the number of match requests (players) per second, in total. It rises
	// evenly to this during the warm-up.
	Rate float64
	// Groups is how many groups the players belong to.
	Groups int
	// Timeout is how long a player waits for an answer.
	Timeout        time.Duration
	Seed           seed.Seed
	loadgen.Config // without Phase and Unsent, which Run sets
}

// party is how many players of one group arrive at the same instant, each at a different master if there are
// enough.
const party = 3

// Driver runs the load once.
type Driver struct {
	opts    Options
	rec     history.Recorder
	masters []*master
	turn    atomic.Uint64 // of the master that gets the next player
	// groupSeed is apart from the arrivals', so that one can change alone.
	groupSeed seed.Seed
	dial      loadgen.Dial
}

// New prepares a run whose events go to rec.
func New(opts Options, rec history.Recorder) *Driver {
	d := &Driver{opts: opts, rec: rec, groupSeed: opts.Seed.Child("groups")}
	for _, m := range opts.Masters {
		d.masters = append(d.masters, newMaster(m))
	}
	return d
}

// Run plays the whole schedule and returns when the last player was answered or
// gave up. When ctx is done it stops early. It fails if the machine has no alarm to wake it.
func (d *Driver) Run(ctx context.Context) error {
	defer func() {
		for _, m := range d.masters {
			m.http.Close()
		}
	}()
	load := d.opts.Config
	load.Phase = func(state string, atNS int64) {
		d.rec.Record(history.Event{Kind: history.KindPhase, State: state, AtNS: atNS})
	}
	load.Unsent = func(count uint64, fromNS, toNS int64) {
		d.rec.Record(history.Event{
			Kind: history.KindMatch, FromNS: fromNS, AtNS: toNS, Count: count,
			Outcome: string(locks.OutcomeFailed), Error: loadgen.ErrorNotSent,
		})
	}
	return loadgen.Open(ctx, load, d.pacer(), d.match)
}

// pacer is the schedule: parties that arrive independently, at a rate that rises during
// the warm-up and that a dial changes from there on.
func (d *Driver) pacer() loadgen.Pacer {
	single := loadgen.Poisson(d.opts.Rate/party, d.opts.Seed.Child("arrivals"))
	return loadgen.Parties(d.dial.Pace(loadgen.Ramp(single, d.opts.Warmup)), party)
}

// SetRate changes the number of players per second from now on, in total, and records it. A warm-up goes on, with
// its ramp scaled alike.
func (d *Driver) SetRate(perSecond uint32) error {
	if perSecond < 1 || perSecond > loadgen.MaxRate {
		return fmt.Errorf("rate %d: want 1 to %d a second", perSecond, loadgen.MaxRate)
	}
	now := max(clock.Mono(), d.opts.StartNS)
	d.rec.Record(history.Event{Kind: history.KindRate, AtNS: now, Count: uint64(perSecond)})
	d.dial.Turn(float64(perSecond) / d.opts.Rate)
	return nil
}

// match sends one player through the load balancer.
func (d *Driver) match(ctx context.Context, op loadgen.Op) {
	group := d.groupOf(op.Index)
	player := "p" + strconv.FormatUint(op.Index, 10)
	node, got, err := d.send(ctx, op, player, group)
	d.rec.Record(history.Event{
		Kind: history.KindMatch, FromNS: op.IntendedNS, SentNS: op.SentNS, AtNS: clock.Mono(),
		Node: node, Client: player, Resource: group, Room: got.Room, Worker: got.Worker,
		Outcome: string(locks.OutcomeOf(err)), Error: errorKind(err),
	})
}

// send tries one master after the other until one of them takes the request.
func (d *Driver) send(ctx context.Context, op loadgen.Op, player, group string) (node string, got seat, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(op.SentNS-clock.Mono())+d.opts.Timeout)
	defer cancel()
	outcome := locks.ErrNotAcquired
	for range len(d.masters) + 1 {
		m := d.next()
		node = m.Name
		got, err = m.match(ctx, player, group)
		if !errors.Is(err, errDown) {
			return node, got, err
		}
		if errors.Is(err, locks.ErrUnknown) {
			outcome = locks.ErrUnknown // it may have taken a seat before it died
		}
		m.downUntil.Store(clock.Mono() + int64(downFor))
	}
	return node, got, fmt.Errorf("no master answers: %w: %w", outcome, locks.ErrUnavailable)
}

// next returns the next master that is not down. If all are down it returns the next one nevertheless: one that
// has just come back should not wait for its 200 ms.
func (d *Driver) next() *master {
	n := uint64(len(d.masters))
	turn := d.turn.Add(1) - 1
	for i := range n {
		if m := d.masters[(turn+i)%n]; m.downUntil.Load() <= clock.Mono() {
			return m
		}
	}
	return d.masters[turn%n]
}

// groupOf draws the group of the party that a player belongs to: the n-th party
// always gets the same group for one seed.
func (d *Driver) groupOf(player uint64) string {
	draw := uint64(d.groupSeed.Child(strconv.FormatUint(player/party, 36))) // well mixed
	return "g" + strconv.FormatUint(draw%uint64(d.opts.Groups)+1, 10)       //nolint:gosec // more than 0
}

// downFor is how long a master that refused gets no players, as long as another
// master is up.
const downFor = 200 * time.Millisecond

// errDown says that the master will never answer this request: it refused the
// connection (then the request is surely not done) or broke it (then its outcome is unknown).
var errDown = errors.New("matchmaking: master is down")

// master is one server with its connections.
type master struct {
	loadgen.Master
	http      *httpapi.Client
	downUntil atomic.Int64 // on clock.Mono
}

func newMaster(m loadgen.Master) *master {
	return &master{Master: m, http: httpapi.NewClient(m.URL, httpapi.ClientConfig{
		Name: "master",
		// A master may have closed an idle connection meanwhile, which says nothing about it.
		Repeatable: true,
	})}
}

// player is the body of a request, seat that of an answer.
type player struct {
	Player string `json:"player"`
	Group  string `json:"group"`
}

type seat struct {
	Room   string `json:"room"`
	Worker string `json:"worker"`
}

// match asks the master for a seat. Its error wraps one of the three outcomes.
func (m *master) match(ctx context.Context, name, group string) (got seat, err error) {
	err = m.http.Call(ctx, http.MethodPost, "/v1/match", player{name, group}, &got)
	refusal, refused := errors.AsType[*httpapi.Error](err)
	switch {
	case err == nil:
		return got, nil
	case refused && refusal.Outcome == string(locks.OutcomeFailed):
		return got, fmt.Errorf("%w: %w", locks.ErrNotAcquired, err)
	case errors.Is(err, httpapi.ErrNotSent) && ctx.Err() != nil:
		return got, fmt.Errorf("%w: %w", locks.ErrNotAcquired, ctx.Err())
	case errors.Is(err, httpapi.ErrNotSent):
		return got, fmt.Errorf("%w: %w: %w", errDown, locks.ErrNotAcquired, err)
	case ctx.Err() != nil:
		return got, fmt.Errorf("%w: %w", locks.ErrUnknown, ctx.Err())
	case errors.Is(err, httpapi.ErrUnreachable):
		return got, fmt.Errorf("%w: %w: %w", errDown, locks.ErrUnknown, err)
	}
	return got, fmt.Errorf("%w: %w", locks.ErrUnknown, err)
}

// errorKind names the error as histories do: by the master's own word if it gave one.
func errorKind(err error) string {
	if refusal, refused := errors.AsType[*httpapi.Error](err); refused {
		return cmp.Or(refusal.Kind, "http-"+strconv.Itoa(refusal.Status))
	}
	switch { // the outcome has its own field, so the reason tells more
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, locks.ErrUnavailable):
		return "unavailable"
	}
	return locks.ErrorKind(err)
}
