// Package record holds the history of one run in memory, in the form in which it is judged:
// one slice for each kind of thing that happened, times as nanoseconds on the clock of the run.
// Nothing here judges: records that are missing or contradict each other are counted for the judge of soundness.
package record

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"
	"time"

	"locklab/workloads/history"
	"locklab/workloads/result"
)

// Never is the time of an event that did not happen.
const Never = math.MaxInt64

// Run is one history.
type Run struct {
	Head     history.Run
	Workload history.Workload

	// From Measure on the run is measured; from Drain on nothing more is due. Ended says that the run recorded its
	// End; else End is the latest time of the history. In a run that was cut short before Measure, Measure is End; in
	// one without a warm-up, Measure is the first operation.
	Measure, Drain, End int64
	Ended               bool
	Torn                bool // the last line of the file was cut
	GivenUp             []string

	Acquires []*Acquire // without canaries; sorted by Resource, then From
	Canaries []*Acquire // sorted by At
	Requests []Request  // of players, in the order of the file
	Rooms    []Room
	Orders   []history.Event // sorted by their time
	Accesses []history.Event // reads and writes of the store of fenced-write

	Faults []Fault // sorted by First
	Nodes  map[string]*Node
	// Rare events, in the order of the file.
	Machines, Usage, Capacities, Rates []history.Event

	// ErrNS is the error bound of each host's clock, as it was known in the end.
	ErrNS map[string]int64
	// Missing and Contradictions are the flaws that reading found, for the judge of soundness.
	Missing, Contradictions Flaws

	holds map[string]*Acquire
}

// MS is a time in milliseconds since the measured part began, as results have it.
func (r *Run) MS(at int64) float64 {
	if at == Never {
		return result.Never
	}
	return MS(at - r.Measure)
}

// MS is a time in milliseconds.
func MS(ns int64) float64 { return float64(ns) / 1e6 }

// Complete says that the lab wrote the history, with what was expected and all that happened. One that was written
// by hand may lack most of that.
func (r *Run) Complete() bool { return r.Head.Expect != nil }

// Whole says that it is complete, and went on to its end.
func (r *Run) Whole() bool { return r.Complete() && r.Ended && len(r.GivenUp) == 0 }

// Groups yields the parts of a sorted list that have the same name.
func Groups[T any](sorted []T, of func(T) string) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for from, to := 0, 1; from < len(sorted); to++ {
			if to == len(sorted) || of(sorted[to]) != of(sorted[from]) {
				if !yield(sorted[from:to:to]) {
					return
				}
				from = to
			}
		}
	}
}

// ByResource are the acquisitions of each resource.
func (r *Run) ByResource() iter.Seq[[]*Acquire] {
	return Groups(r.Acquires, func(a *Acquire) string { return a.Resource })
}

// Offered is how many operations were to be offered from a moment of the measured part on.
func (r *Run) Offered(from int64) (n float64) {
	perS := r.Head.OfferedPS
	for _, change := range r.Rates {
		at := min(max(change.AtNS, from), r.Drain)
		n += perS * time.Duration(at-from).Seconds()
		from, perS = at, float64(change.Count)
	}
	return n + perS*time.Duration(r.Drain-from).Seconds()
}

// Span is the time [From, To).
type Span struct{ From, To int64 }

// Len is its length.
func (s Span) Len() int64 { return s.To - s.From }

// Outcome is how an operation ended.
type Outcome uint8

// The outcomes. Unsent: it was due and never left. CalledOff: its caller gave it up.
const (
	OK Outcome = iota
	Failed
	Unknown
	Unsent
	CalledOff
)

// Op is an operation: a player's request, or an acquisition.
type Op struct {
	From, Sent, At                    int64
	Node, Client, Resource, ErrorKind string
	Count                             uint32 // operations that it stands for: more than 1 only where they were not sent
	Outcome                           Outcome
}

// Acquire is one finished acquisition, with the hold that came of it.
type Acquire struct {
	Op
	Err                      int64
	Token, Messages, Wakeups uint64
	Hold                     string // empty if none came of it
	// The end of the hold, [Never] if it did not come. Stopped: its client stopped acting, to release it (the earlier
	// of both records). Lost: it noticed the loss. Answered: the release was answered. Killed: its process was
	// killed. Until is when the client stopped believing: the first of Stopped, Lost and Killed.
	Stopped, Lost, Answered, Killed, Until int64
}

// Granted says that a hold came of it.
func (a *Acquire) Granted() bool { return a.Outcome == OK && a.Hold != "" }

// Request is one request of a player. Room is empty if it got none.
type Request struct {
	Op
	Room, Worker string
}

// Due are the operations that were due in the measured part and were not called off: the requests
// of players, or else the acquisitions.
func (r *Run) Due(players bool) iter.Seq[*Op] {
	return func(yield func(*Op) bool) {
		due := func(o *Op) bool { return o.From < r.Measure || o.From >= r.Drain || o.Outcome == CalledOff || yield(o) }
		if players {
			for i := 0; i < len(r.Requests) && due(&r.Requests[i].Op); {
				i++
			}
			return
		}
		for i := 0; i < len(r.Acquires) && due(&r.Acquires[i].Op); {
			i++
		}
	}
}

// Room is what its worker recorded of a room. At has a time for each state, or [Never].
type Room struct {
	ID, Order, Worker, Resource string
	Master                      string // that ordered it
	At                          [4]int64
	Err                         int64
}

// The states of a room.
const (
	RoomStarting = iota
	RoomOpen
	RoomFull
	RoomClosed
)

// Begun is when the room was created.
func (r *Room) Begun() int64 { return slices.Min(r.At[:]) }

// Over is when no seat was free any more.
func (r *Room) Over() int64 { return min(r.At[RoomFull], r.At[RoomClosed]) }

// Fault is one entry of the ledger; a time that did not come is [Never]. Away says that nodes that it killed did
// not come back in the run.
type Fault struct {
	result.Fault
	Aim                       history.Aim
	Asked, Began, Heal, Ended int64
	Away                      bool
}

// First is when the fault was asked for, or seen if that came first.
func (f *Fault) First() int64 { return min(f.Asked, f.Began) }

// HealsItself says that its end followed its beginning at once, as of a restart: then it was over when its end was
// seen. Any other fault is over when its end is requested.
func (f *Fault) HealsItself() bool {
	began := f.Began
	if began == Never {
		began = f.Asked
	}
	return f.Heal != Never && f.Heal-began < int64(time.Millisecond)
}

// Cuts says that it hits links between hosts.
func (f *Fault) Cuts() bool { return len(f.From)+len(f.To) > 0 }

// Node is the life of one node.
type Node struct {
	Name   string
	Host   string
	Zone   string
	Events []history.Event // sorted
	Away   []Span          // when it did not run: dead, or stopped for a while; sorted, not touching
	Deaths []Death         // sorted
	Starts int
	Runs   bool // at the end of the history
}

// Death is the end of a process, seen At. It may have happened since Asked, when the signal for it was sent.
// InOrder: the process was asked to end, and had time to record everything.
type Death struct {
	At, Asked int64
	InOrder   bool
}

// Life says in which life of the node's process a moment lies, from 0. A nil node has one.
func (n *Node) Life(at int64) int {
	if n == nil {
		return 0
	}
	return sort.Search(len(n.Deaths), func(i int) bool { return n.Deaths[i].At >= at })
}

// Next is the first end of the node's process that was seen at or after a moment; its times are
// [Never] if there was none.
func (n *Node) Next(at int64) Death {
	if i := n.Life(at); n != nil && i < len(n.Deaths) {
		return n.Deaths[i]
	}
	return Death{At: Never, Asked: Never}
}

// Hold finds the acquisition of a hold; nil if the history has none of it.
func (r *Run) Hold(hold string) *Acquire { return r.holds[hold] }

// Flaws counts one sort of flaws of the records.
type Flaws struct {
	N     int
	First string // by the alphabet, such as "the release of hold h-master-a-12"
}

// Add counts one. The result is the same for any order in the file.
func (f *Flaws) Add(format string, args ...any) {
	about := fmt.Sprintf(format, args...)
	if f.N++; f.N == 1 || about < f.First {
		f.First = about
	}
}
