package check

import (
	"fmt"
	"math"
	"slices"
	"time"

	"locklab/locks"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// Options tune the judgement. The zero value means the defaults.
type Options struct {
	// Stall is how long waiters without any grant may be left before a lock is not
	// live any more; 1 s by default.
	Stall time.Duration
	// FaultMargin is how long after its end a fault still excuses an unreachable
	// worker, because connections need time to come back; 1 s by default.
	FaultMargin time.Duration
	// Examples bounds Findings.Examples for each kind of violation; 5 by default.
	Examples int
}

// FailoverTime is longer than any lock of the lab takes to go on without a server or a
// peer that is gone: to notice it, and to elect another one. A fault that is shorter
// can't tell a lock that stalls from one that is down. If the one that is gone held the
// lock, its lease may take longer.
const FailoverTime = 1500 * time.Millisecond

// DemandGap is how soon after a failed acquisition a resource must be asked for again
// to count as wanted in between.
const DemandGap = 250 * time.Millisecond

func (o Options) withDefaults() Options {
	if o.Stall <= 0 {
		o.Stall = time.Second
	}
	if o.FaultMargin <= 0 {
		o.FaultMargin = time.Second
	}
	if o.Examples <= 0 {
		o.Examples = 5
	}
	return o
}

// Checker takes the events of one history one by one and keeps what the verdict
// needs of them: some 100 bytes an event.
type Checker struct {
	opts   Options
	run    history.Run
	events int
	torn   bool
	end    int64 // the latest time in the file

	phases   map[string]int64
	names    names
	ops      []op // matches, and acquisitions for workloads without matches
	matches  int
	locks    lockRecord
	rooms    []roomEvent
	orders   map[string]*order
	nodes    map[int32][]nodeEvent
	faults   map[string]*Fault
	hits     map[string]hit
	seats    map[string]*seats // by room
	clocks   map[string]int64  // error bound by host, in nanoseconds
	machines []machineEvent
	givenUp  []string
	order    []string // fault ids as they came
}

// New starts the check of one history.
func New(opts Options) *Checker {
	return &Checker{
		opts:   opts.withDefaults(),
		phases: map[string]int64{},
		names:  names{of: map[string]int32{}},
		locks:  lockRecord{half: map[holdKey]int32{}},
		orders: map[string]*order{},
		nodes:  map[int32][]nodeEvent{},
		faults: map[string]*Fault{},
		hits:   map[string]hit{},
		seats:  map[string]*seats{},
		clocks: map[string]int64{},
	}
}

// op is one operation of the workload.
type op struct {
	from, sent, at int64
	count          int64
	outcome        outcome
	errorKind      int32
}

type outcome uint8

const (
	ok outcome = iota
	failed
	unknown
	unsent
)

func outcomeOf(e *history.Event) outcome {
	switch {
	case e.Error == loadgen.ErrorNotSent:
		return unsent
	case e.Outcome == string(locks.OutcomeOK):
		return ok
	case e.Outcome == string(locks.OutcomeFailed):
		return failed
	}
	return unknown // also what is not one of the three words
}

// Add takes one event. It keeps nothing of e but strings.
func (c *Checker) Add(e *history.Event) {
	c.events++
	if e.Kind != history.KindClock { // read when all was over
		c.end = max(c.end, e.AtNS)
	}
	switch e.Kind {
	case history.KindRun:
		if e.Run != nil {
			c.run = *e.Run
		}
	case history.KindPhase:
		if _, again := c.phases[e.State]; !again {
			c.phases[e.State] = e.AtNS
		}
	case history.KindMatch:
		if c.matches == 0 { // acquisitions seen before are the masters', not the load
			c.ops = c.ops[:0]
		}
		c.matches++
		c.addSeat(e)
		c.ops = append(c.ops, c.op(e))
	case history.KindAcquire:
		if c.matches == 0 {
			c.ops = append(c.ops, c.op(e))
		}
		c.addAcquire(e)
	case history.KindReleasing, history.KindRelease, history.KindLost:
		c.addRelease(e)
	case history.KindOrder:
		c.addOrder(e)
	case history.KindRoom:
		c.rooms = append(c.rooms, roomEvent{
			at: e.AtNS, err: e.ErrNS, room: e.Room, order: e.Order,
			worker: c.names.id(e.Node), group: c.names.id(e.Resource), state: roomStateOf(e.State),
		})
	case history.KindNode:
		node := c.names.id(e.Node)
		c.nodes[node] = append(c.nodes[node], nodeEvent{asked: e.FromNS, at: e.AtNS, state: e.State, why: e.Error, log: e.Log})
	case history.KindFault:
		c.addFault(e)
	case history.KindClock:
		c.clocks[e.Host] = max(c.clocks[e.Host], e.ErrNS)
	case history.KindGivenUp:
		c.givenUp = append(c.givenUp, e.Error)
	case history.KindMachine:
		if e.Machine != nil && e.FromNS < e.AtNS {
			c.machines = append(c.machines, machineEvent{host: e.Host, span: span{e.FromNS, e.AtNS}, Machine: *e.Machine})
		}
	case history.KindGrant: // the servers' record: shown by reports, not judged yet
	}
}

func (c *Checker) op(e *history.Event) op {
	return op{
		from: e.FromNS, sent: e.SentNS, at: e.AtNS, count: int64(max(e.Count, 1)), //nolint:gosec // far below
		outcome: outcomeOf(e), errorKind: c.names.id(e.Error),
	}
}

// Torn says that the file's last line was torn.
func (c *Checker) Torn() { c.torn = true }

// Findings judges what was added. The checker must not be used afterwards.
func (c *Checker) Findings() *Findings {
	f := &Findings{Run: c.run, Repeats: 1, Events: c.events, Errors: map[string]int64{}, Liveness: Live, RecoveryNS: -1, FirstViolationNS: math.MaxInt64}
	t := c.timeline()
	c.widen(f)
	c.measureOps(f, t)
	c.joinHolds()
	f.Faults = append(c.listFaults(t), c.unasked(t)...)
	c.checkRooms(f, t)
	c.checkRecords(f)
	c.checkHolds(f, t)
	c.doubtHolds(f)
	c.checkLiveness(f, t)
	slices.SortStableFunc(f.Examples, func(a, b Example) int { return int(min(max(a.AtNS-b.AtNS, -1), 1)) })
	c.checkMachines(f, t)
	f.GivenUp = c.givenUp
	f.Disturbed = f.isDisturbed() || len(f.Saturated)+len(f.GivenUp)+len(f.Contradictions) > 0
	if c.torn {
		f.Incomplete = append(f.Incomplete, "the history ends in a torn line: its writer was killed")
	}
	if _, ended := c.phases[loadgen.PhaseEnd]; !ended {
		f.Incomplete = append(f.Incomplete, "the history has no end: the run was interrupted")
	} else if c.run.DurationNS > 0 && t.drain-t.measure < c.run.DurationNS*99/100 {
		f.Incomplete = append(f.Incomplete, fmt.Sprintf("the run was interrupted after %v of %v",
			time.Duration(t.drain-t.measure).Round(time.Millisecond), time.Duration(c.run.DurationNS)))
	}
	return f
}

// violation notes when the lock was first seen to fail.
func (f *Findings) violation(t timeline, at int64) {
	f.FirstViolationNS = min(f.FirstViolationNS, at-t.measure)
	if len(f.ViolationsNS) < maxViolations {
		f.ViolationsNS = append(f.ViolationsNS, at-t.measure)
	}
}

// example keeps the first violations of each kind.
func (c *Checker) example(f *Findings, t timeline, what, resource string, at int64, text func() string) {
	n := 0
	for i := range f.Examples {
		if f.Examples[i].What == what {
			n++
		}
	}
	if n < c.opts.Examples {
		f.Examples = append(f.Examples, Example{Repeat: 1, What: what, Resource: resource, AtNS: at - t.measure, Text: text()})
	}
}

// Events judges a history that is in memory.
func Events(events []history.Event, opts Options) *Findings {
	c := New(opts)
	for i := range events {
		c.Add(&events[i])
	}
	return c.Findings()
}

// names numbers the strings that repeat.
type names struct {
	of   map[string]int32
	list []string
}

func (n *names) id(s string) int32 {
	if id, known := n.of[s]; known {
		return id
	}
	id := int32(len(n.list)) //nolint:gosec // far below
	n.of[s] = id
	n.list = append(n.list, s)
	return id
}

func (n *names) text(id int32) string { return n.list[id] }
