// Package history defines the events that a run leaves behind, and reads and writes them as JSON lines:
// append-only, one event a line, flushed while the run goes on, so that a run that was killed can still be
// judged and reported. Two records meet in one file: what the lock's clients believed, and what the resource
// (the rooms on the workers) really saw.
//
//	masters ──acquire, release, lost, order──┐
//	workers ──room (the oracle)──────────────┤
//	agents  ──node, fault────────────────────┼──▶ Writer ──▶ history.jsonl
//	load generator ──match, phase────────────┘                    │
//	                                    checkers, reports ◀── Read
//
// [Read] returns events in the order of the file, not of time: sort by AtNS for that. It accepts only one damage,
// the torn last line of a killed writer. [Decoder] has a fast path for the lab's own lines and leaves all others
// to package json: to read and judge a million events takes less than a second.
package history

import (
	"fmt"
	"strings"
	"time"
)

// Kind says what an event is about.
type Kind string

// The kinds, by who records them.
const (
	// KindRun is the first event of every file: Run says what was run.
	KindRun Kind = "run"
	// KindPhase marks the phases of the run.
	KindPhase Kind = "phase"
	// KindRate changes the load: from AtNS on Count operations per second are offered.
	KindRate Kind = "rate"
	// KindCapacity is one measurement of the lock's capacity, by the controller. State is own (each client
	// has a resource) or one (all want the same). The load began at FromNS; Count grants came from SentNS
	// to AtNS.
	KindCapacity Kind = "capacity"

	// KindMatch is one finished match request, recorded by the load generator: FromNS is the intended
	// time, SentNS when it really left, AtNS when it was answered; Node is the master, Resource the
	// group, Room the answer.
	KindMatch Kind = "match"

	// KindAcquire is one finished acquisition as its client believed it: asked at FromNS, answered at
	// AtNS. Client names the caller, Hold the grant.
	KindAcquire Kind = "acquire"
	// KindReleasing says that the holder stopped acting at AtNS. It leaves the process before the release is sent, so
	// it is on record even if the process is killed meanwhile.
	KindReleasing Kind = "releasing"
	// KindRelease is the end of a hold: the holder stopped acting at FromNS, the release was answered at AtNS.
	KindRelease Kind = "release"
	// KindLost says that the holder noticed at AtNS that it lost the lock.
	KindLost Kind = "lost"
	// KindOrder is a master's order of a room, under the lock (Hold). Node, the master, began to ask the workers for
	// rooms at FromNS; Unreachable are the workers that did not answer. The order left to Worker at SentNS and was
	// answered at AtNS.
	KindOrder Kind = "order"

	// KindRoom is the oracle's record, by the worker that hosts the room; Order names the order behind it.
	KindRoom Kind = "room"

	// KindRead and KindWrite are what the store of fenced-write did for a holder, recorded under the mutex, or by the
	// transaction, that did it. Client is the holder's master, Token the one it showed, Version the resulting
	// version. A write's State is accepted, refused or, if only the writer could record it, unknown; Base is the
	// version that it had read. A read's State is refused, or none.
	KindRead  Kind = "read"
	KindWrite Kind = "write"

	// KindNode is the life of a process, recorded by its agent, or by the controller if its host was lost.
	KindNode Kind = "node"
	// KindPoint says that a client reached a point of its work, State, and waits there until its process is paused,
	// as a fault requested.
	KindPoint Kind = "point"
	// KindFault is the proof-of-fault ledger: Fault is its kind, ID its name in the run. A link fault stops traffic
	// from the hosts From to the hosts To, or adds DelayNS one way; a process fault hits Nodes.
	KindFault Kind = "fault"
	// KindClock is recorded by the controller at the end, for each host on another machine: every time of Host in
	// this history is right within ErrNS.
	KindClock Kind = "clock"
	// KindMachine is what the CPUs of Host's machine did from FromNS to AtNS, as its agent measured. Without
	// a Host it is the controller's machine, with all hosts that have no such events of their own.
	KindMachine Kind = "machine"
	// KindUsage is what nodes used from FromNS to AtNS, measured by the agent of Host: CPU and memory of its own
	// nodes, and bytes of the links from Host to other nodes.
	KindUsage Kind = "usage"
	// KindGivenUp is recorded by the controller when a run could not begin, go on or end in its time. Error says why;
	// later records may be missing.
	KindGivenUp Kind = "given-up"
)

// States lists the states of a kind of event; nil if it has none.
func (k Kind) States() []string {
	switch k {
	case KindPhase:
		return []string{PhaseWarmup, PhaseMeasure, PhaseDrain, PhaseEnd}
	case KindCapacity:
		return []string{CapacityOwn, CapacityOne}
	case KindRoom:
		return []string{RoomStarting, RoomOpen, RoomFull, RoomClosed}
	case KindWrite:
		return []string{WriteAccepted, WriteRefused, WriteUnknown}
	case KindNode:
		return []string{NodeStarted, NodeReady, NodeKilled, NodePaused, NodeResumed, NodeStopped, NodeLost, NodeExited}
	case KindPoint:
		return []string{PointAcquiring, PointGranted, PointReleasing}
	case KindFault:
		return []string{FaultAsked, FaultBegan, FaultUnproven, FaultHealAsked, FaultEnded, FaultAway, FaultLost}
	default:
		return nil
	}
}

// The workloads.
const (
	Matchmaking = "matchmaking"
	Mutex       = "mutex"
	FencedWrite = "fenced-write"
	Handoff     = "handoff"
)

// Workload says what a workload's histories are judged by, and shown with.
type Workload struct {
	Name    string
	Players bool     // it serves requests of players; else acquisitions are what is served
	Writes  bool     // holders write to the store
	One     bool     // all clients wait for the same resource
	Counts  []string // figures that are 0 unless something is found
}

// WorkloadOf finds a workload; the error names all of them.
func WorkloadOf(name string) (Workload, error) {
	var names []string
	for _, w := range []Workload{
		{Name: Matchmaking, Players: true, Counts: []string{"duplicates", "unreachable", "rooms"}},
		{Name: Mutex},
		{Name: FencedWrite, Writes: true, Counts: []string{"stale_writes", "lost_updates", "fenced_writes"}},
		{Name: Handoff, One: true},
	} {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	return Workload{}, fmt.Errorf("have %s, want one of %s", name, strings.Join(names, ", "))
}

// The States of a phase.
const (
	PhaseWarmup  = "warmup"  // load runs, nothing is measured yet
	PhaseMeasure = "measure" // operations due from here on count
	PhaseDrain   = "drain"   // nothing more is due; answers are awaited
	PhaseEnd     = "end"     // everything was answered or given up
)

// The States of a capacity.
const (
	CapacityOwn = "own"
	CapacityOne = "one"
)

// CapacityResource is part of the names of resources that measure capacity; their holds are not recorded.
const CapacityResource = "capacity"

// CanaryPrefix begins the names of the masters' canary resources. Their holds are not recorded, and their
// acquisitions count only for outages.
const CanaryPrefix = "canary-"

// The States of a room. One that fills while it is starting is never open.
const (
	RoomStarting = "starting"
	RoomOpen     = "open"
	RoomFull     = "full"
	RoomClosed   = "closed"
)

// The States of a write; a read may be refused, too.
const (
	WriteAccepted = "accepted"
	WriteRefused  = "refused"
	WriteUnknown  = "unknown"
)

// The States of a node. The last one was not asked for.
const (
	NodeStarted = "started"
	NodeReady   = "ready"
	NodeKilled  = "killed"
	NodePaused  = "paused"
	NodeResumed = "resumed"
	NodeStopped = "stopped"
	NodeLost    = "lost"   // with its host; recorded by the controller
	NodeEnded   = "ended"  // in any way: an agent's answer, no event
	NodeExited  = "exited" // by itself, or by a signal that the agent did not send; Error is how
)

// NodeEnds says whether a state is the end of the node's process.
func NodeEnds(state string) bool {
	return state == NodeKilled || state == NodeStopped || state == NodeExited || state == NodeLost
}

// The points of a client's work.
const (
	PointAcquiring = "acquiring" // it is about to acquire; nothing was sent
	// PointGranted: it has checked for the last time that it holds the lock, and is about to do the first thing that
	// others can see: to order a room, or to write.
	PointGranted   = "granted"
	PointReleasing = "releasing" // it acts no more, and is about to release; nothing was sent
)

// The States of a fault.
const (
	FaultAsked     = "asked"
	FaultBegan     = "began"
	FaultUnproven  = "unproven"
	FaultHealAsked = "heal-asked"
	FaultEnded     = "ended"
	FaultAway      = "away" // the nodes that it killed stay away to the end of the run
	FaultLost      = "lost" // what a power cut took from a disk
)

// The Faults that no scenario asks for.
const (
	FaultNodeLoss   = "node-loss"  // a node ended
	FaultStandstill = "standstill" // a node, an agent or the controller did not run for a while
	FaultByHand     = "by-hand"    // a toxic was added to the link Target by hand
)

// The Targets of a standstill.
const (
	TargetController = "the controller"
	TargetAgent      = "the agent of host " // the host follows
)

// The moving targets of a fault, found when it begins.
const (
	AimHolder  = "holder"  // of a lock
	AimLeader  = "leader"  // of the lock's servers
	AimPrimary = "primary" // the server that the lock's clients write to
)

// How nodes may exit under a fault.
const (
	ExitsAlone  = "alone"  // by themselves, not by a signal
	ExitsSignal = "signal" // also by a signal
)

// Aim is a fault's target for programs; Target is for people.
type Aim struct {
	// At is holder, leader or primary; "" if the target does not move. Resource is the one that the holder holds, ""
	// any; Node is the one that was found.
	At       string `json:"at,omitzero"`
	Resource string `json:"resource,omitzero"`
	Node     string `json:"node,omitzero"`
	// Point is the point of a client's work at which a process is paused; "" is anywhere.
	Point string `json:"point,omitzero"`
	// OneWay: only traffic from From to To is hit.
	OneWay bool `json:"one_way,omitzero"`
	// Exits is how the nodes that it hits may exit; "" is not at all.
	Exits string `json:"exits,omitzero"`
}

// Event is one line of a history, one flat record for all kinds; fields that a kind does not use are absent.
//
// Times are nanoseconds on the monotonic clock of the controller's host. The controller converts those of other
// hosts, with ErrNS as the error bound of that moment; [KindClock] has the final bound.
type Event struct {
	Kind   Kind  `json:"kind"`
	AtNS   int64 `json:"at_ns"`
	FromNS int64 `json:"from_ns,omitzero"`
	SentNS int64 `json:"sent_ns,omitzero"`
	ErrNS  int64 `json:"err_ns,omitzero"`

	// Seq numbers the events of one life of the process that recorded them, from 1: a gap shows a lost event. Line
	// numbers all others, in the order of the file.
	Seq  uint64 `json:"seq,omitzero"`
	Line uint64 `json:"line,omitzero"`

	Host  string `json:"host,omitzero"`
	Node  string `json:"node,omitzero"`
	State string `json:"state,omitzero"`

	Client   string `json:"client,omitzero"`
	Hold     string `json:"hold,omitzero"`
	Resource string `json:"resource,omitzero"`
	Outcome  string `json:"outcome,omitzero"` // ok, failed, unknown
	Error    string `json:"error,omitzero"`   // one word, see locks.ErrorKind; of a fault and of a run given up: why
	Token    uint64 `json:"token,omitzero"`
	Messages uint64 `json:"messages,omitzero"` // protocol messages the node's lock client has sent so far
	Wakeups  uint64 `json:"wakeups,omitzero"`  // of waiters, by the node's lock client so far; see locks.WakeupCounter
	Count    uint64 `json:"count,omitzero"`    // operations that the event stands for; absent means one

	Version uint64 `json:"version,omitzero"`
	Base    uint64 `json:"base,omitzero"`

	Room        string   `json:"room,omitzero"`
	Order       string   `json:"order,omitzero"`
	Worker      string   `json:"worker,omitzero"`
	Unreachable []string `json:"unreachable,omitzero"`

	ID     string   `json:"id,omitzero"`
	Fault  string   `json:"fault,omitzero"`
	Target string   `json:"target,omitzero"`
	Aim    *Aim     `json:"aim,omitzero"`
	From   []string `json:"from,omitzero"`
	To     []string `json:"to,omitzero"`
	Nodes  []string `json:"nodes,omitzero"`

	DelayNS int64 `json:"delay_ns,omitzero"`
	Lost    *Lost `json:"lost,omitzero"`

	// Log is the last lines of a node that ended unasked.
	Log []string `json:"log,omitzero"`

	Run     *Run     `json:"run,omitzero"`
	Machine *Machine `json:"machine,omitzero"`
	Usage   []Usage  `json:"usage,omitzero"`
}

// Lost is what a power cut took from a node's disk: bytes written and not synced, and names made, changed or
// removed in directories that were not synced.
type Lost struct {
	Node  string `json:"node"`
	Bytes int64  `json:"bytes"`
	Names int    `json:"names"`
}

// Schema is the version of the file format.
const Schema = "locklab/history/v1"

// Run describes the run that a history belongs to.
type Run struct {
	Schema     string  `json:"schema"`
	Lock       string  `json:"lock"`
	Scenario   string  `json:"scenario"`
	Workload   string  `json:"workload"`
	Topology   string  `json:"topology"`
	Repeat     int     `json:"repeat"` // 1 is the first
	Seed       uint64  `json:"seed"`
	OfferedPS  float64 `json:"offered_per_s"`
	WarmupNS   int64   `json:"warmup_ns"`
	DurationNS int64   `json:"duration_ns"` // measured part, after the warm-up
	// Played says that a person breaks things and ends the run, which lasts at most DurationNS.
	Played    bool              `json:"played,omitzero"`
	HostZones map[string]string `json:"host_zones,omitzero"`
	NodeHosts map[string]string `json:"node_hosts,omitzero"`
	// Expect is what the scenario expects of this lock; absent from histories that were written by hand.
	Expect *Expect `json:"expect,omitzero"`
	// Planned are the scenario's faults, which the ledger must have.
	Planned []Planned `json:"planned,omitzero"`
	// LeaseNS is how long a holder that is gone may keep the lock; 0 if it has no lease.
	LeaseNS int64 `json:"lease_ns,omitzero"`
	// Program says that the lock is a program of the user's; absent for the lab's own.
	Program *Program `json:"program,omitzero"`
	// Seats is how many players fit in a room; 0 if the workload has no rooms.
	Seats int `json:"seats,omitzero"`
	// SecondNS is ten of the longest round trips of the topology, if that is more than a second; else 0.
	SecondNS int64 `json:"second_ns,omitzero"`
}

// Patience is how long players and clients wait where round trips are short.
const Patience = 2500 * time.Millisecond

// Limit scales a limit for short round trips to the round trips of this run.
func (r Run) Limit(d time.Duration) time.Duration {
	return time.Duration(float64(d) * max(1, float64(r.SecondNS)/float64(time.Second)))
}

// Program describes a lock that the user brings.
type Program struct {
	Servers []string `json:"servers,omitzero"` // nodes that it may dial, through links
}

// Expect is what a scenario expects of a lock. What is empty is not judged.
type Expect struct {
	Safety   string   `json:"safety,omitzero"`   // safe or unsafe
	Liveness []string `json:"liveness,omitzero"` // any of live, stalls, down
	// Availability is the least share of the operations, 0 to 1, that must end ok.
	Availability Availability `json:"availability,omitzero"`
}

// Availability is two shares of operations, 0 to 1.
type Availability struct {
	Outside float64 `json:"outside,omitzero"` // of those that no fault touched
	During  float64 `json:"during,omitzero"`  // of those that were under way while one was in force
}

// Planned is one fault of a scenario, as it is scheduled for a run.
type Planned struct {
	ID     string `json:"id"` // as in the ledger
	Fault  string `json:"fault"`
	Target string `json:"target,omitzero"`
	Aim    Aim    `json:"aim,omitzero"`
	AtNS   int64  `json:"at_ns"` // since the measured part began
	ForNS  int64  `json:"for_ns"`
}

// Recorder takes events. Implementations are safe for concurrent use and must
// not block the caller for longer than a write to a local file or pipe.
type Recorder interface {
	Record(Event)
}

// Commit records an event and returns once it has left the process, as far as the recorder can tell. So it is
// known before anything that the process does next.
func Commit(rec Recorder, e Event) {
	rec.Record(e)
	if f, ok := rec.(interface{ Flush() error }); ok {
		_ = f.Flush() // the recorder keeps its first error; the work goes on
	}
}

// Machine is what the CPUs and the disk of a machine did for a while; 0 is what its system does not tell.
type Machine struct {
	CPUs int `json:"cpus"`
	// BusyNS is the time that CPUs were not idle, added up, with what a hypervisor took away.
	BusyNS int64 `json:"busy_ns,omitzero"`
	// StolenNS is the part of BusyNS that a hypervisor took away.
	StolenNS int64 `json:"stolen_ns,omitzero"`
	// ThrottledNS is how long a quota kept the lab's control group from a CPU, all CPUs added up.
	ThrottledNS int64 `json:"throttled_ns,omitzero"`
	// RunNS is how long threads of the lab's processes had a CPU, WaitNS how long they were ready and had none, all
	// threads added up.
	RunNS  int64 `json:"run_ns,omitzero"`
	WaitNS int64 `json:"wait_ns,omitzero"`
	// LateNS is the most that a timer of the sampling process was late.
	LateNS int64 `json:"late_ns"`
	// FsyncNS is the longest fsync of a page on the disk of the nodes' data.
	FsyncNS int64 `json:"fsync_ns,omitzero"`
}

// Usage is what one node used for a while. What is not known is absent.
type Usage struct {
	Node string `json:"node"`
	// CPUNS is how long the node's processes had a CPU.
	CPUNS *int64 `json:"cpu_ns,omitzero"`
	// MemoryBytes is what they had in memory at the end.
	MemoryBytes *int64 `json:"memory_bytes,omitzero"`
	// InBytes went to the node through links of the event's Host, OutBytes came from it: on connections that others
	// opened and, if it is the only node of its host, on its own.
	InBytes  *int64 `json:"in_bytes,omitzero"`
	OutBytes *int64 `json:"out_bytes,omitzero"`
}
