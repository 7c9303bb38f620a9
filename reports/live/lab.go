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
	Kept  result.File // the finished rows of a comparison that is resumed
	Rooms bool        // some workload has them
	// Grids makes the report's grids of the rows so far.
	Grids func(*lang.Lang, result.File) []table.Table
	// Duplicates judges the rooms of a history, whose first event is the run, with the run's own checker; nil judges
	// nothing.
	Duplicates func([]history.Event) []Duplicate
	// Control lets viewers break the lab, if not nil.
	Control Control
}

// Zone is an availability zone of the comparison.
type Zone struct{ Name, Short string }

// Duplicate is a room that should not have been created.
type Duplicate struct {
	AtNS        int64 // it began
	Room        string
	Unreachable bool // it does not count against the lock
}

// Run describes a run that begins.
type Run struct {
	result.Key
	Hosts       []Host
	Links       []Link
	Duration    time.Duration
	Played      bool    // a person breaks and ends it: it has no Duration
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

// Control does what viewers ask for. Its errors are shown to them, and say what would be right. It may be called
// from any goroutine, and waits for nothing but a file.
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
	Faults   []history.Event // the last event of each open fault by hand
}
