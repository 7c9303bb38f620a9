package check

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/internal/sentence"
	"locklab/locks"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// Options say what is judged, and what is kept.
type Options struct {
	// Workloads are those whose histories can be judged.
	Workloads []Workload
	// Ops keeps Findings.Ops and Acquires, to be drawn and resampled.
	Ops bool
	// Examples bounds Findings.Examples for each kind of violation; 5 by default.
	Examples int
}

// The limits are of runs with short round trips; of others it is [history.Run.Limit] of them.
const (
	// longStall is how long waiters without any grant may be left before a lock is not live
	// any more: that, or an eighth of a run so short that it would be most of a fault.
	longStall = time.Second
	// calmStall is the least that is a stall where no fault is in force.
	calmStall = 500 * time.Millisecond
	// faultMargin is how long after its end a fault still excuses an unreachable worker,
	// because connections need time to come back. Processes that it ended have FailoverTime
	// from when they are there again.
	faultMargin = time.Second
	// fewExamples are kept of each kind of violation where nobody asks for more.
	fewExamples = 5
)

// FailoverTime is longer than any lock of the lab takes to go on without a server or a
// peer that is gone: to notice it, and to elect another one. A fault that is shorter
// can't tell a lock that stalls from one that is down. If the one that is gone held the
// lock, its lease may take longer.
const FailoverTime = 1500 * time.Millisecond

// DemandGap is how soon after a failed acquisition a resource must be asked for again
// to count as wanted in between.
const DemandGap = 250 * time.Millisecond

// Checker takes the events of one history one by one and keeps what the verdict
// needs of them: some 100 bytes an event.
type Checker struct {
	opts   Options
	run    history.Run
	events int
	torn   bool
	end    int64         // the latest time in the file
	stall  time.Duration // what counts as one

	parts        []part // of each of opts.Workloads
	phases       map[string]int64
	names        names
	unsent       []op // acquisitions that were due, and not sent
	acquires     []*acquire
	space        []acquire    // for more of them
	resources    [][]*acquire // the same of each resource, sorted by answer, once they are settled
	serverGrants []grantEvent // as the servers of the lock recorded them
	ends         []holdEnd
	holds        holdIndex
	nodes        map[int32][]nodeEvent
	points       []pointEvent
	lives        map[int32]life // of the nodes, once all is known
	numbers      [][]uint64     // of the events of each node by its name's number, and at 0 of the file's own
	flaws        contradictions
	faults       []*fault            // in the order of the ledger
	clocks       map[string]int64    // error bound by host, in nanoseconds
	unsure       map[string]struct{} // hosts whose clocks had one before the end
	machines     []machineEvent
	rates        []Rate // as somebody changed it, in the order of the file
	usage        []usageEvent
	capacities   []history.Event
	givenUp      []sentence.Text
	reach        reach            // of the faults, once the holds are settled
	longest      outage           // of the windows, once they are measured
	lengths      map[string]Stall // the longest of each resource, and of the lock: ""
}

// New starts the check of one history.
func New(opts Options) *Checker {
	c := &Checker{
		opts:   opts,
		phases: map[string]int64{}, lengths: map[string]Stall{},
		names:  newNames(),
		holds:  newHoldIndex(),
		nodes:  map[int32][]nodeEvent{},
		clocks: map[string]int64{},
		unsure: map[string]struct{}{},
	}
	for _, w := range opts.Workloads {
		c.parts = append(c.parts, w.begin(c))
	}
	return c
}

// op is one operation of the workload.
type op struct {
	from, sent, at int64
	count, player  int64 // the number of the player, -1 if it has none
	outcome        outcome
	errorKind      int32
	node, resource int32
}

type outcome uint8

const (
	ok outcome = iota
	failed
	unknown
	unsent
	calledOff // it waited for others when the run ended
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
	switch {
	case e.Seq > 0:
		c.number(c.names.id(e.Node), e.Seq)
	case e.Line > 0:
		c.number(0, e.Line)
	}
	if strings.HasPrefix(e.Resource, history.CanaryPrefix) {
		return
	}
	if e.Kind != history.KindClock && e.Kind != history.KindCapacity { // when all was over
		c.end = max(c.end, e.AtNS)
	}
	c.addTimes(e)
	if e.ErrNS > 0 && e.Host != "" && e.Kind != history.KindClock {
		c.unsure[e.Host] = struct{}{}
	}
	switch e.Kind {
	case history.KindRun:
		if e.Run != nil {
			c.run = *e.Run
		}
	case history.KindPhase:
		if at, again := c.phases[e.State]; again {
			c.flaws.add(twice, 1, sentence.Of("the beginning of the phase %s", brief(e.State)))
			c.phases[e.State] = min(at, e.AtNS)
			return
		}
		c.phases[e.State] = e.AtNS
	case history.KindAcquire:
		c.addAcquire(e)
	case history.KindReleasing, history.KindRelease, history.KindLost:
		c.addEnd(e)
	case history.KindNode:
		node := c.names.id(e.Node)
		c.nodes[node] = append(c.nodes[node], nodeEvent{asked: e.FromNS, at: e.AtNS, state: e.State, why: e.Error, log: e.Log})
	case history.KindPoint:
		c.points = append(c.points, pointEvent{c.names.id(e.Node), e.State, e.AtNS})
	case history.KindFault:
		c.addFault(e)
	case history.KindClock:
		c.clocks[e.Host] = max(c.clocks[e.Host], e.ErrNS)
	case history.KindGivenUp:
		c.givenUp = append(c.givenUp, sentence.Of("the run was given up: %s", e.Error))
	case history.KindMachine:
		if e.Machine != nil && e.FromNS < e.AtNS {
			c.machines = append(c.machines, machineEvent{host: e.Host, span: span{e.FromNS, e.AtNS}, Machine: *e.Machine})
		}
	case history.KindRate:
		c.rates = append(c.rates, Rate{AtNS: e.AtNS, PerS: float64(e.Count)})
	case history.KindCapacity:
		if e.SentNS < e.AtNS {
			c.capacities = append(c.capacities, *e)
		}
	case history.KindUsage:
		c.addUsage(e)
	case history.KindGrant:
		c.addGrant(e)
	default:
		for _, p := range c.parts {
			p.add(e)
		}
	}
}

func (c *Checker) op(e *history.Event) op {
	return op{
		from: e.FromNS, sent: e.SentNS, at: e.AtNS, count: int64(max(e.Count, 1)), //nolint:gosec // far below
		outcome: outcomeOf(e), errorKind: c.names.id(e.Error), player: playerOf(e.Client),
		node: c.names.id(e.Node), resource: c.names.id(e.Resource),
	}
}

// Torn says that the file's last line was torn.
func (c *Checker) Torn() { c.torn = true }

// Findings judges what was added. The checker must not be used afterwards.
func (c *Checker) Findings() *Findings {
	f := &Findings{Run: c.run, Repeats: 1, Events: c.events, Errors: map[string]int64{}, Counts: map[string]int64{}, Violated: map[string]int64{}, Liveness: Live, RecoveryNS: -1, FirstViolationNS: math.MaxInt64}
	c.stall = c.run.Limit(longStall)
	if c.run.DurationNS > 0 && c.run.SecondNS == 0 {
		c.stall = min(longStall, time.Duration(c.run.DurationNS)/8)
	}
	f.LeastStall = c.stall
	t := c.timeline()
	c.settleLives()
	c.joinHolds()
	c.part().settleWants(c.acquires)
	c.widen(f)
	idle := c.idleSince(t)
	c.callOff(idle)
	c.settleHolds(f, t)
	c.reach = c.reached()
	c.measureOps(f, t)
	f.Faults = append(c.listFaults(t), c.unasked(t)...)
	c.checkRecords(f, t)
	c.part().judge(f, t)
	c.checkOverlaps(f, t)
	c.measureZombies(f)
	c.checkTokens(f, t)
	c.measureAcquires(f, t)
	c.doubtHolds(f)
	c.checkLiveness(f, t, idle)
	c.exampleOfOutage(f, t)
	slices.SortStableFunc(f.Examples, func(a, b Example) int { return int(min(max(a.AtNS-b.AtNS, -1), 1)) })
	c.checkMachines(f, t)
	c.measureUsage(f, t)
	c.measureCapacity(f)
	c.checkLinks(f)
	f.GivenUp = c.givenUp
	f.Disturbed = f.isDisturbed() || len(f.Saturated)+len(f.GivenUp)+len(f.Contradictions) > 0
	if c.torn {
		f.Incomplete = append(f.Incomplete, sentence.Of("the history ends in a torn line: its writer was killed"))
	}
	if _, ended := c.phases[loadgen.PhaseEnd]; !ended {
		f.Incomplete = append(f.Incomplete, sentence.Of("the history has no end: the run was interrupted"))
	} else if c.run.DurationNS > 0 && !c.run.Played && t.drain-t.measure < c.run.DurationNS-int64(time.Millisecond) { // the generator says its plan's end, exactly
		f.Incomplete = append(f.Incomplete, sentence.Of("the run was interrupted after %v of %v",
			time.Duration(t.drain-t.measure), time.Duration(c.run.DurationNS)))
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
func (c *Checker) example(f *Findings, t timeline, what, resource string, at int64, text func() sentence.Text) {
	n := 0
	for i := range f.Examples {
		if f.Examples[i].What == what {
			n++
		}
	}
	if n < cmp.Or(c.opts.Examples, fewExamples) {
		f.Examples = append(f.Examples, Example{Repeat: 1, What: what, Resource: resource, AtNS: at - t.measure, Text: text()})
	}
}

// number keeps a number that an event of the node bears.
func (c *Checker) number(node int32, n uint64) {
	for int(node) >= len(c.numbers) {
		c.numbers = append(c.numbers, nil)
	}
	c.numbers[node] = push(c.numbers[node], n)
}

// push appends to what may become long: append alone grows that by a quarter each time,
// and copies it about four times more often.
func push[T any](list []T, one T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, len(list)+1)
	}
	return append(list, one)
}

// names numbers the strings that repeat.
type names struct {
	of   map[string]int32
	list []string
}

func newNames() names { return names{of: map[string]int32{"": 0}, list: []string{""}} }

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
