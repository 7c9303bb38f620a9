// Package record holds the history of one run in memory, in the form in which it is judged:
// one slice for each kind of thing that happened, names as small numbers, times as nanoseconds
// on the clock of the run. Nothing here judges; what does not fit is kept in Flaws, for
// package sound.
package record

import (
	"math"

	"locklab/workloads/history"
)

// Never is the time of what did not come.
const Never = math.MaxInt64

// Name is a string of the history, by its number in [Run.Names]; 0 is "".
type Name int32

// Run is one history.
type Run struct {
	Head  history.Run
	Names []string

	// Phases: Warmup and Measure begin parts of the run; from Drain on nothing is due any more.
	// End is that of the history; Ended says that the run said so itself. A phase that is
	// missing is where the last one before it was, or the first operation.
	Warmup, Measure, Drain, End int64
	Ended                       bool
	Torn                        bool // the last line of the file was cut
	GivenUp                     []string

	Acquires []Acquire // without canaries; sorted by Resource, then From
	Canaries []Acquire // sorted by At
	Requests []Request // of players, in the order of the file
	Orders   []Order   // sorted by At
	Rooms    []RoomEvent
	Accesses []Access
	Grants   []Grant // of lock servers that record them, sorted by At

	Faults     []Fault // sorted by Asked
	Nodes      []Node  // by name
	Machines   []Machine
	Usage      []Usage
	Capacities []Capacity
	Rates      []Rate

	// ErrNS is the error bound of each host's clock, as it was known in the end.
	ErrNS map[string]int64
	// Flaws are what the reading found: see package sound.
	Flaws []Flaw
}

// Text is a name's string.
func (r *Run) Text(n Name) string { return r.Names[n] }

// Span is the time [From, To).
type Span struct{ From, To int64 }

// Len is its length.
func (s Span) Len() int64 { return s.To - s.From }

// Outcome is how an operation ended.
type Outcome uint8

// The outcomes. Unsent: it was due and never left. CalledOff: its caller did not want it any more.
const (
	OK Outcome = iota
	Failed
	Unknown
	Unsent
	CalledOff
)

// Acquire is one finished acquisition, with the hold that came of it.
type Acquire struct {
	From, Sent, At, Err               int64
	Token, Messages, Wakeups          uint64
	Node, Client, Resource, ErrorKind Name
	Outcome                           Outcome
	Hold                              string // "" if none came of it
	// The end of the hold: when its client stopped acting to release it (the earlier of both
	// records), when it noticed the loss, when the release was answered, when its process was
	// killed. Never: not at all. Until is when the client stopped believing: the first of them.
	Stopped, Lost, Answered, Killed, Until int64
}

// Granted says that a hold came of it.
func (a *Acquire) Granted() bool { return a.Outcome == OK && a.Hold != "" }

// Request is one request of a player. Room is "" if it got none.
type Request struct {
	From, Sent, At  int64
	Node, Resource  Name
	ErrorKind, Room Name
	Outcome         Outcome
	Count           uint64 // operations that it stands for
}

// Order is a master's order of a room.
type Order struct {
	From, Sent, At, Err    int64
	Node, Resource, Worker Name
	ID, Room               Name
	Hold                   string
	Outcome                Outcome
	Unreachable            []string // workers that did not answer the look
}

// RoomState is what a room did.
type RoomState uint8

// The states.
const (
	RoomStarting RoomState = iota
	RoomOpen
	RoomFull
	RoomClosed
)

// RoomEvent is a record of the worker that hosts a room.
type RoomEvent struct {
	At, Err          int64
	Room, Order      Name
	Worker, Resource Name
	Client           Name // the master that ordered it
	State            RoomState
}

// Access is what the store of fenced-write did for a holder.
type Access struct {
	At, Err              int64
	Node, By, Resource   Name // By is the holder's master
	Hold                 string
	Token, Version, Base uint64
	Kind                 AccessKind
}

// AccessKind is what a store did.
type AccessKind uint8

// The kinds. Untold: the writer was not told what became of its write.
const (
	Read AccessKind = iota
	Write
	RefusedWrite
	RefusedRead
	Untold
)

// Grant is what a lock's server granted.
type Grant struct {
	At, Err        int64
	Node, Resource Name
	Token          uint64
}

// Fault is one entry of the ledger. Times that did not come are [Never]; Began is then Never,
// and Proven false. Away says that what it ended did not come back in the run.
type Fault struct {
	ID, Kind, Target          string
	From, To, Nodes           []string
	Asked, Began, Heal, Ended int64
	KeptNS, DelayNS           int64
	Proven, Away              bool
	Why                       string
}

// Cuts says that it is about links between hosts.
func (f *Fault) Cuts() bool { return len(f.From)+len(f.To) > 0 }

// Node is the life of one node.
type Node struct {
	Name   Name
	Host   string
	Zone   string
	Events []NodeEvent // sorted
	Away   []Span      // when it did not run: dead, or stopped for a while; sorted, not touching
	Killed []int64     // when its process ended, or the signal for it was sent
	Starts int
}

// NodeEvent is a change in the life of a process, in the words of package history.
type NodeEvent struct {
	At    int64
	Asked int64 // when a signal was sent for it, 0 if none was
	State string
	Why   string
	Log   []string
}

// Node finds one by name; nil if the history has none of it.
func (r *Run) Node(name Name) *Node {
	for i := range r.Nodes {
		if r.Nodes[i].Name == name {
			return &r.Nodes[i]
		}
	}
	return nil
}

// Machine is a sample of one machine; Host "" is the controller's.
type Machine struct {
	Span
	Host string
	history.Machine
}

// Usage is a sample of one node.
type Usage struct {
	Span
	Node Name
	history.Usage
}

// Capacity is one measurement of it: see [history.KindCapacity].
type Capacity struct {
	From, Sent, At int64
	State          string
	Count          uint64
}

// Rate says that the load was changed to so much at a time.
type Rate struct {
	At   int64
	PerS float64
}

// Flaw is something that records lack, or that contradicts others. Contradicts tells which.
type Flaw struct {
	Contradicts bool
	About       string // such as "the release of hold master-a-12"
}
