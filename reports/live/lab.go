package live

import (
	"time"

	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// Info describes a comparison before it begins.
type Info struct {
	Title string
	Zones []Zone
	Runs  int
	Kept  result.File // the rows of a comparison that is resumed: their runs are over
	Rooms bool        // some workload has them
	// Grids are the report's, of the rows so far.
	Grids func(*lang.Lang, result.File) []table.Table
	// Duplicates judges the rooms of a history, whose first event is the run. It is the
	// run's own checker: live has no rule of its own. nil judges nothing.
	Duplicates func([]history.Event) []Duplicate
	// Control lets viewers break the lab; nil does not.
	Control Control
}

// Zone is an availability zone of the comparison.
type Zone struct{ Name, Short string }

// Duplicate is a room that should not have been created.
type Duplicate struct {
	AtNS        int64 // it began
	Room        string
	Unreachable bool // it is not held against the lock
}

// Run describes a run that begins.
type Run struct {
	result.Key
	Hosts       []Host
	Links       []Link
	Duration    time.Duration
	Played      bool    // it is broken and ended by hand: it has no Duration
	Rooms       bool    // players get seats in them: their requests are counted, else acquisitions are
	OfferedPerS float64 // 0 if nothing is offered at a rate
}

// Host is a machine of a run with its nodes.
type Host struct {
	Name, Zone string // the zone's short name
	Nodes      []Node
}

// Node is one process on a host.
type Node struct{ Name, Role string }

// Link is a pair of hosts: nodes of the first dial nodes of the second.
type Link struct {
	From, To string
	RTT      time.Duration // of a round trip while nothing is broken
}

// Control does what viewers ask for. Its errors are shown to them, and name the right value. It may be
// called from any goroutine, and waits for nothing but a file.
type Control interface {
	// Begin begins a fault, as scenarios write it, in JSON.
	Begin(fault []byte) error
	// Heal ends a fault, or all if the ID is empty.
	Heal(id string) error
	// SetRate changes the operations offered per second.
	SetRate(perSecond uint32) error
	// Switch ends the run and begins one of another lock, or of the same one again.
	Switch(lock string) error
	// State is the present state.
	State() ControlState
}

// ControlState has the choices of the page, and the present state.
type ControlState struct {
	Lock     string // of the run that goes on, or begins
	Running  bool   // faults and switches are taken
	Locks    []string
	PerS     uint32 // operations offered per second
	MostPerS uint32
	Zones    []string // the short names
	Nodes    []Node
	Faults   []history.Event // the last of each that was begun by hand and is not over
}
