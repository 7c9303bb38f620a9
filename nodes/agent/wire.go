package agent

import (
	"github.com/go-json-experiment/json/jsontext"

	"locklab/nodes/diskfault"
)

// What travels between Client and Agent.

// Health is what an agent says of itself.
type Health struct {
	Host    string `json:"host"`
	Zone    string `json:"zone"`
	Version string `json:"version"`
	PID     int    `json:"pid"`
	// Instance changes when the agent is started or reset: event numbers of another
	// instance mean nothing.
	Instance  string `json:"instance"`
	NextEvent uint64 `json:"next_event"` // number that the next event will get
}

type versionAnswer struct {
	Version string `json:"version"`
}

type reserveRequest struct {
	Role string `json:"role"`
}

type reserveAnswer struct {
	Addrs map[string]string `json:"addrs"`
}

type startRequest struct {
	Role     string         `json:"role"`
	Settings jsontext.Value `json:"settings,omitzero"`
	// FakeClock asks for a wall clock that can be set.
	FakeClock bool `json:"fake_clock,omitzero"`
	// Disk is which calls are to be stopped, so that its disk can get slow or full.
	Disk diskfault.Calls `json:"disk,omitzero"`
}

// diskFault is what is, or is to be, wrong with a node's disk.
type diskFault struct {
	DelayNS int64 `json:"delay_ns,omitzero"`
	Full    bool  `json:"full,omitzero"`
}

// diskSeen is what that has done: see [diskfault.Seen].
type diskSeen struct {
	diskFault
	Hit     uint64 `json:"hit"`
	Done    uint64 `json:"done"`
	LeastNS int64  `json:"least_ns"`
}

// clockOffset is by how much a node's wall clock is wrong, or is to be.
type clockOffset struct {
	OffsetMS int64 `json:"offset_ms"`
	// Rate is how fast it is to run, 1 and 0 are right; absent where it was read.
	Rate float64 `json:"rate,omitzero"`
}

// pauseRequest says where to stop the node: at once, or when it next comes to a point of its
// work, which it must within a time.
type pauseRequest struct {
	Point    string `json:"point,omitzero"`
	WithinMS int64  `json:"within_ms,omitzero"`
}

// resetRequest names the nodes that go on.
type resetRequest struct {
	Keep []string `json:"keep,omitempty"`
}

type restartRequest struct {
	Wipe    bool  `json:"wipe,omitzero"`
	DelayMS int64 `json:"delay_ms,omitzero"`
}

// forgetRequest says that every event below a number has been taken.
type forgetRequest struct {
	Instance string `json:"instance"`
	Below    uint64 `json:"below"`
}

// instanceHeader names the agent's instance in the answer to an events request.
const instanceHeader = "Locklab-Instance"
